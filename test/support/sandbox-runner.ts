import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config/index.js';
import { Sandbox } from '../../src/harness/sandbox/sandbox.js';

/**
 * A process of its own with a sandbox: runs a command in a workspace, and says whether there are sandboxes and why the
 * command was refused.
 */
const [workspace = '', command = ''] = process.argv.slice(2);
const sandbox = new Sandbox(
  loadConfig({ DATA_DIR: join(tmpdir(), 'plinth-no-data'), SECRET_KEY: 'x'.repeat(32) }),
);
const { signal } = new AbortController();
const refused = await sandbox.run({ workspace, command, timeoutMs: 60_000, signal }).then(
  () => null,
  (error: unknown) => (error as { code?: string }).code,
);
process.stdout.write(`\n${JSON.stringify({ ...sandbox.capability, refused })}`);
