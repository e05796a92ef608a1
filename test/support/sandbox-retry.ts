import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/platform/config/index.js';
import { Sandbox } from '../../src/harness/sandbox/sandbox.js';

/**
 * A process of its own whose first check of the sandbox fails, for want of a temporary folder: prints after how many
 * milliseconds it wants to check again, and what that says. It does not wait so long.
 */
const folder = tmpdir();
const delays: number[] = [];
const { setTimeout: start } = globalThis;
Object.assign(globalThis, {
  setTimeout: (act: () => void, delayMs: number) => {
    delays.push(delayMs);
    return start(act, delays.length === 1 ? 0 : delayMs);
  },
});
const sandbox = new Sandbox(
  loadConfig({ DATA_DIR: join(folder, 'plinth-no-data'), SECRET_KEY: 'x'.repeat(32) }),
);
process.env['TMPDIR'] = '/proc/nowhere';
sandbox.onApplicationBootstrap();
await sandbox.ready();
process.env['TMPDIR'] = folder;
const first = sandbox.capability.available;
while (delays.length < 2) await sleep(20);
const { available } = sandbox.capability;
await sandbox.onApplicationShutdown();
process.stdout.write(`\n${JSON.stringify({ first, available, delays })}`);
