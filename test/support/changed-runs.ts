import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { JsonValue } from '../../simulator/http/json.js';
import type { ScriptStep } from '../../simulator/index.js';
import type { Harness, RunView, SessionView } from './harness.js';
import { done } from './people.js';
import type { Answer, Session } from './session.js';

export interface UndoResult {
  readonly changeIds: readonly number[];
  readonly files: readonly string[];
  readonly conflicts: readonly { path: string; reason: string; changeIds: readonly number[] }[];
}

export interface ChangedFile {
  readonly path: string;
  readonly changeIds: readonly number[];
  readonly undoneChangeIds: readonly number[];
  readonly undoable: boolean;
  readonly reason: string | null;
}

export type Call = readonly [name: string, input: { readonly [name: string]: JsonValue }];

const PLAN: Call = [
  'plan_create',
  { summary: 'Change files', steps: [{ text: 'Change' }], files: [], risks: [] },
];

export const read = (path: string): Call => ['read_file', { path }];
export const write = (path: string, content: string): Call => ['write_file', { path, content }];
export const remove = (path: string): Call => ['delete_file', { path }];
export const shell = (command: string): Call => ['shell', { command }];
export const edit = (path: string, oldText: string, newText: string): Call => [
  'edit_file',
  { path, edits: [{ oldText, newText }] },
];

/** A turn of the model that makes the calls. */
function turn(...calls: readonly Call[]): ScriptStep {
  return { toolCalls: calls.map(([name, input]) => ({ name, arguments: { ...input } })) };
}

/** Finished runs of a real loop that have changed files, and what is done with them afterwards. */
export class ChangedRuns {
  constructor(private readonly harness: Harness) {}

  /** Makes the workspace anew; sessions belong to the folder that they were made for. */
  clear(): void {
    rmSync(this.harness.workspace, { recursive: true, force: true });
    mkdirSync(this.harness.workspace);
  }

  /** A session in which nobody is asked. */
  session(by: Session = this.harness.session): Promise<SessionView> {
    return this.harness.createSession(
      { permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' },
      by,
    );
  }

  /** A finished run that has made the calls, one turn each; throws when one of them has failed. */
  async ran(session: SessionView, calls: readonly Call[], by?: Session): Promise<RunView> {
    const steps = calls.map((call) => turn(call));
    this.harness.script(turn(PLAN), ...steps, { text: 'Done.' });
    const run = await this.harness.createRun(session.sessionId, {}, by);
    const ended = await this.harness.ended(run);
    if (ended.status !== 'COMPLETED') throw new Error(`The run is ${ended.status}.`);
    const messages = await this.harness.messages(session);
    const failed = messages.find((one) => one['runId'] === run.runId && one['toolError'] === true);
    if (failed) throw new Error(`A call failed: ${String(failed['content'])}`);
    return ended;
  }

  /** A new session with such a run. */
  async of(...calls: readonly Call[]): Promise<RunView> {
    return this.ran(await this.session(), calls);
  }

  /** Does the work while another run of the session waits for its model. */
  async whileLive(session: SessionView, work: (live: RunView) => Promise<void>): Promise<void> {
    this.harness.script({ ...turn(PLAN), firstMs: 60_000 });
    const live = await this.harness.createRun(session.sessionId);
    try {
      await this.harness.waitFor(live, 'RUNNING');
      await work(live);
    } finally {
      done(await this.harness.post(live, '/cancel'));
      await this.harness.ended(live);
      this.harness.simulator.reset();
    }
  }

  undo(run: RunView, body: object = {}): Promise<Answer<UndoResult>> {
    return this.harness.post<UndoResult>(run, '/undo', body);
  }

  redo(run: RunView, body: object = {}): Promise<Answer<UndoResult>> {
    return this.harness.post<UndoResult>(run, '/redo', body);
  }

  async files(run: RunView): Promise<ChangedFile[]> {
    const { session } = this.harness;
    return done(await session.get<ChangedFile[]>(this.harness.path(run, '/files'))).data;
  }

  async effects(run: RunView): Promise<Record<string, unknown>[]> {
    const path = this.harness.path(run, '/effects');
    return done(await this.harness.session.get<Record<string, unknown>[]>(path)).data;
  }

  at(path: string): string {
    return join(this.harness.workspace, path);
  }

  /** All files of the workspace by their paths. */
  all(): Record<string, string> {
    const found = readdirSync(this.harness.workspace, { recursive: true, withFileTypes: true });
    const files = found.filter((entry) => entry.isFile());
    const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
    return Object.fromEntries(
      paths.map((path) => [relative(this.harness.workspace, path), readFileSync(path, 'utf8')]),
    );
  }

  /** Null when there is no such file. */
  content(path: string): string | null {
    return existsSync(this.at(path)) ? readFileSync(this.at(path), 'utf8') : null;
  }
}
