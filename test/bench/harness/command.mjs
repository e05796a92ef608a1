// What stands before and after a command in a large workspace: looking for secrets and protected paths, the sandbox, the
// snapshot, and what has changed. Beside it a bare walk that asks for the state of each file.
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkspaceSnapshots } from '../../../dist/src/harness/change/snapshot/workspace.snapshots.js';
import { Sandbox } from '../../../dist/src/harness/sandbox/sandbox.js';
import { loadConfig } from '../../../dist/src/platform/config/index.js';

const FOLDERS = 400;
const FILES_PER_FOLDER = 50;
const NESTED = 600;
const TENANT = '000000';

/** Undefined where there is no sandbox. */
export async function commandTimes(rounds) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-bench-')));
  const config = loadConfig({ DATA_DIR: join(folder, 'data'), SECRET_KEY: 'x'.repeat(32) });
  const sandbox = new Sandbox(config);
  const snapshots = new WorkspaceSnapshots(config);
  try {
    await sandbox.ready();
    if (!sandbox.capability.available) return undefined;
    const measured = {};
    for (const [name, make] of Object.entries({ wide, nested })) {
      const root = join(folder, name);
      make(root);
      const command = () => run({ sandbox, snapshots }, root);
      // The first snapshot reads every file.
      await command();
      const [times, bare] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        times.push(await timed(command));
        bare.push(await timed(() => walk(root)));
      }
      measured[name] = { times, bare };
    }
    return measured;
  } finally {
    await sandbox.onApplicationShutdown();
    await snapshots.onApplicationShutdown();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As the tool does it. */
async function run({ sandbox, snapshots }, root) {
  const { signal } = new AbortController();
  const target = { tenantId: TENANT, root };
  let before;
  let changes;
  const result = await sandbox.run({
    ...{ workspace: root, command: 'echo changed >> changed.txt', timeoutMs: 60_000, signal },
    onReady: async (protectedPaths) => {
      before = await snapshots.take(target, signal, protectedPaths);
    },
    onEnded: () => {
      changes = snapshots.changesSince(target, before);
    },
  });
  const { length } = (await changes) ?? [];
  if (result.exitCode !== 0 || length !== 1) {
    throw new Error(`The command ended with ${result.exitCode} and ${length} changes.`);
  }
}

function walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    lstatSync(path);
    if (entry.isDirectory()) walk(path);
  }
}

function wide(root) {
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const path = join(root, `package-${folder % 20}`, `folder-${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES_PER_FOLDER; file += 1) {
      writeFileSync(join(path, `file-${file}.txt`), `line of file ${file}\n`.repeat(10));
    }
  }
}

/** A repository at the bottom: what is above it must not be moved. */
function nested(root) {
  const bottom = join(root, ...Array.from({ length: NESTED }, (_, depth) => `n${depth % 10}`));
  mkdirSync(join(bottom, '.git'), { recursive: true });
  writeFileSync(join(bottom, '.git', 'HEAD'), 'ref: refs/heads/main\n');
}

async function timed(act) {
  const began = performance.now();
  await act();
  return performance.now() - began;
}
