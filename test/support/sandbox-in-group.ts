import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInSandbox } from '../../src/harness/sandbox/sandbox.run.js';

/**
 * A process of its own that runs several commands at once as a user in the control group in which it was started: prints
 * how each ended, and in which group it is itself by then. Becomes that user only now, since others cannot write what
 * compiling its modules leaves.
 */
const [user = '0', memoryMib = '128', ...commands] = process.argv.slice(2);
if (user !== '0') {
  process.setgroups?.([]);
  process.setgid?.(Number(user));
  process.setuid?.(Number(user));
}
const folder = await realpath(await mkdtemp(join(tmpdir(), 'plinth-grouped-')));
const limits = {
  memoryBytes: Number(memoryMib) * 2 ** 20,
  ...{ diskBytes: 2 ** 50, freeBytes: 0, addedFiles: 2 ** 50 },
};
const results = await Promise.all(
  commands.map(async (command) => {
    const workspace = await mkdtemp(join(folder, 'workspace-'));
    const { signal } = new AbortController();
    const request = { workspace, command, timeoutMs: 60_000, signal };
    const place = { removed: join(folder, 'removed'), hidden: [], limits };
    const { limitsBy, exceeded, exitCode, output } = await runInSandbox(request, place);
    return { limitsBy, exceeded, exitCode, output: output.whole().toString() };
  }),
);
const group = (await readFile('/proc/self/cgroup', 'utf8')).trim();
await rm(folder, { recursive: true });
process.stdout.write(`\n${JSON.stringify({ group, results })}`);
