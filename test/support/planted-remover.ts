import { removePlantedPaths } from '../../src/harness/sandbox/sandbox.run.js';

/** A process of its own, as the user of PLINTH_TEST_USER: removes what was planted in a workspace, and prints the paths. */
const user = Number(process.env['PLINTH_TEST_USER'] ?? 0);
if (user > 0) {
  process.setgroups?.([]);
  process.setgid?.(user);
  process.setuid?.(user);
}
const { root, storeFolder } = JSON.parse(process.argv[2] ?? '') as {
  root: string;
  storeFolder: string;
};
process.stdout.write(`\n${JSON.stringify(await removePlantedPaths(root, [], { storeFolder }))}`);
