import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe } from '@jest/globals';
import { loadConfig } from '../../src/platform/config/index.js';
import { Sandbox } from '../../src/harness/sandbox/sandbox.js';
import type { CommandLimits } from '../../src/harness/sandbox/resource-limits.js';
import { runInSandbox } from '../../src/harness/sandbox/sandbox.run.js';
import type { SandboxRequest, SandboxResult } from '../../src/harness/sandbox/sandbox.run.js';
import type { ProtectedPath } from '../../src/harness/sandbox/workspace-scan.js';

/** One is enough for the files of tests of a process: it holds nothing but whether sandboxes can be used. */
const dataFolder = join(tmpdir(), `plinth-sandbox-data-${process.pid}`);
const shared = new Sandbox(loadConfig({ DATA_DIR: dataFolder, SECRET_KEY: 'x'.repeat(32) }));

const UNLIMITED: CommandLimits = {
  ...{ memoryBytes: 2 ** 50, diskBytes: 2 ** 50, freeBytes: 0, addedFiles: 2 ** 50 },
};

/** A real sandbox and a workspace of its own. */
export class TestSandbox {
  /** What is removed from workspaces. */
  static readonly removed = join(dataFolder, 'harness', 'removed');

  private constructor(
    /** Holds the workspace, and whatever must not be reached from it. */
    readonly folder: string,
    readonly workspace: string,
  ) {}

  static async start(files: Readonly<Record<string, string>> = {}): Promise<TestSandbox> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'plinth-sandboxed-')));
    const workspace = join(folder, 'workspace');
    await mkdir(workspace);
    const started = new TestSandbox(folder, workspace);
    for (const [path, content] of Object.entries(files)) await started.write(path, content);
    return started;
  }

  async run(command: string, options: Partial<SandboxRequest> = {}): Promise<SandboxResult> {
    return shared.run({
      workspace: this.workspace,
      command,
      timeoutMs: 30_000,
      signal: new AbortController().signal,
      ...options,
    });
  }

  /** Removes what was not there before, as after the loss of a service. */
  async tidy(before: readonly ProtectedPath[], signal: AbortSignal): Promise<void> {
    return shared.tidy(this.workspace, before, signal);
  }

  /** Runs the command with these limits alone. */
  async runWithin(limits: Partial<CommandLimits>, command: string): Promise<SandboxResult> {
    const { workspace } = this;
    const { signal } = new AbortController();
    return runInSandbox(
      { workspace, command, timeoutMs: 100_000, signal },
      { removed: TestSandbox.removed, hidden: [], limits: { ...UNLIMITED, ...limits } },
    );
  }

  /** What a command prints. */
  async output(command: string): Promise<string> {
    return (await this.run(command)).output.whole().toString();
  }

  async write(path: string, content: string | Buffer): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), content);
  }

  async read(path: string): Promise<string> {
    return readFile(this.at(path), 'utf8');
  }

  at(path: string): string {
    return join(this.workspace, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * `describe` where there are sandboxes; else says why the tests are skipped. What the sandboxes have kept of the file's
 * workspaces is removed after its tests.
 */
export async function describeSandboxed(): Promise<typeof describe | typeof describe.skip> {
  // Node removes neither folders that are closed to their owner nor those whose path is longer than the kernel takes.
  const remove = 'chmod -R u+rwx "$0"; rm -rf "$0"';
  afterAll(() => promisify(execFile)('sh', ['-c', remove, dataFolder]));
  await shared.ready();
  const { reason } = shared.capability;
  if (reason === null) return describe;
  process.stderr.write(`Skipped: tests of the sandbox. ${reason}\n`);
  return describe.skip;
}
