import { removePlantedPaths } from '../../src/harness/sandbox/planted-paths.js';

/** A process of its own, as the user of PLINTH_TEST_USER: removes what was planted in a workspace, and prints the paths. */
const user = Number(process.env['PLINTH_TEST_USER'] ?? 0);
if (user > 0) {
  process.setgroups?.([]);
  process.setgid?.(user);
  process.setuid?.(user);
}
const { root, kept } = JSON.parse(process.argv[2] ?? '') as { root: string; kept: string };
process.stdout.write(`\n${JSON.stringify(await removePlantedPaths(root, [], { kept }))}`);
