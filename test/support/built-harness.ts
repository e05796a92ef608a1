import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from '@jest/globals';
import pg from 'pg';
import { startSimulator } from '../../simulator/index.js';
import type { ScriptStep, Simulator } from '../../simulator/index.js';
import { addressOf, adminAt, boot } from './built-process.js';
import type { BuiltProcess } from './built-process.js';
import { freshKey } from './harness.js';
import type { RunView } from './harness.js';
import { RunStream } from './harness-stream.js';
import type { RunEvent } from './harness-stream.js';
import { createModel, createProvider } from './models.js';
import { ownStore } from './own-store.js';
import type { OwnStore } from './own-store.js';
import { done } from './people.js';
import type { Answer, Session } from './session.js';
import { ADMIN_PASSWORD, SECRET_KEY } from './template.js';
import { eventually } from './wait.js';

/** How long anything may take on a busy machine. */
const PATIENCE_MS = 300_000;
/** A command may go on for ten seconds after a stop; the end of the process may take fifteen more than this. */
const GRACE_SECONDS = '60';
/** Names the lock that a gate waits for. */
const GATE = 4711;

/** One run with a workspace and a model of its own, so that runs do not wait for each other. */
export interface CrashRun {
  readonly name: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly workspace: string;
}

/** The event at which a run is held; `detail` is the tool or the iteration. */
interface Gate {
  readonly type: string;
  readonly detail?: string;
}

/**
 * The built service as a process that is killed and started again, on one store and with one simulator. On PostgreSQL a
 * test can hold a run at a point: whatever stores an event of a kind waits then, with its transaction open.
 */
export class BuiltHarness {
  private process: BuiltProcess | undefined;
  private current: Session | undefined;
  private gates: pg.Client | undefined;

  private constructor(
    readonly simulator: Simulator,
    private readonly folder: string,
    private readonly store: OwnStore,
  ) {}

  static async start(): Promise<BuiltHarness> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-crash-')));
    const store = await ownStore({ dataDir: join(folder, 'data') });
    const harness = new BuiltHarness(await startSimulator(), folder, store);
    mkdirSync(join(folder, 'roots'));
    if (store.databaseUrl) await harness.openGates(store.databaseUrl);
    await harness.boot();
    await createProvider(harness.session, 'custom_api');
    return harness;
  }

  /** As admin, at the process that runs now. */
  get session(): Session {
    if (!this.current) throw new Error('The process does not run.');
    return this.current;
  }

  /** Everything that the process has logged. */
  get log(): string {
    return this.process?.stdout() ?? '';
  }

  async boot(): Promise<void> {
    const { store, folder } = this;
    this.process = boot(join(folder, 'data'), {
      ADMIN_PASSWORD,
      SECRET_KEY,
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      HARNESS_ROOTS: join(folder, 'roots'),
      HARNESS_RUNS: '50',
      HARNESS_RUNS_PER_USER: '50',
      DATABASE_POOL_SIZE: '30',
      SHUTDOWN_GRACE_SECONDS: GRACE_SECONDS,
      ...store.environment,
    });
    this.current = await adminAt(await addressOf(this.process), ADMIN_PASSWORD);
  }

  /** kill -9, and what a server does with the connections of a client that is gone. */
  async kill(): Promise<void> {
    this.process?.child.kill('SIGKILL');
    await this.process?.exit;
    this.current = undefined;
    await this.gates?.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
  }

  /** As an administrator ends it: the process gives its runs back and closes what it has. */
  async terminate(): Promise<void> {
    this.process?.child.kill('SIGTERM');
    expect(await this.process?.exit).toBe(0);
    this.current = undefined;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.boot();
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.gates?.end();
    await this.store.drop();
    await this.simulator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The workspace of the run that `begin` begins with the name. */
  workspace(name: string): string {
    const workspace = join(this.folder, 'roots', name);
    write(workspace, { 'a.txt': 'one\n', 'b.txt': 'one\n' });
    return workspace;
  }

  /** A run that does what its model is told to, in a workspace with these files. */
  async begin(
    name: string,
    session: Readonly<Record<string, unknown>>,
    steps: readonly ScriptStep[],
    gate?: Gate,
  ): Promise<CrashRun> {
    const model = `model-${name}`;
    this.simulator.script(...steps.map((step) => ({ ...step, match: { model } })));
    return this.beginAt(name, { apiHost: this.simulator.url }, session, gate);
  }

  /** A run whose model is served at an address of its own. */
  async beginAt(
    name: string,
    service: { readonly apiHost: string; readonly providerCode?: string },
    session: Readonly<Record<string, unknown>>,
    gate?: Gate,
  ): Promise<CrashRun> {
    const workspace = this.workspace(name);
    const modelName = `model-${name}`;
    const fields = { supportsTools: true, contextWindow: 64_000, apiKey: 'a-key' };
    await createModel(this.session, { ...fields, ...service, modelName });
    const body = {
      ...{ workspacePath: workspace, model: modelName, title: name, idempotencyKey: freshKey() },
      ...{ permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER', ...session },
    };
    const made = await this.session.post<{ sessionId: string }>('/coding/harness/sessions', body);
    const { sessionId } = done(made).data;
    if (gate) await this.close(sessionId, gate);
    const run = await this.session.post<RunView>(`/coding/harness/sessions/${sessionId}/runs`, {
      requirement: `Do ${name}`,
      idempotencyKey: freshKey(),
    });
    return { name, sessionId, runId: done(run).data.runId, workspace };
  }

  path({ sessionId, runId }: CrashRun, below = ''): string {
    return `/coding/harness/sessions/${sessionId}/runs/${runId}${below}`;
  }

  async run(run: CrashRun): Promise<RunView> {
    return done(await this.session.get<RunView>(this.path(run))).data;
  }

  post(run: CrashRun, below: string, body: object = {}): Promise<Answer<RunView>> {
    return this.session.post<RunView>(this.path(run, below), body);
  }

  /** The run once it has one of the statuses; fails at once when it has ended otherwise. */
  async waitFor(run: CrashRun, ...statuses: string[]): Promise<RunView> {
    const found = await eventually(
      () => this.run(run),
      ({ status, endedAt }) => statuses.includes(status) || typeof endedAt === 'number',
      PATIENCE_MS,
    );
    if (statuses.includes(found.status)) return found;
    throw new Error(`${run.name} is ${found.status}: ${JSON.stringify(found.error)}`);
  }

  async events(run: CrashRun): Promise<RunEvent[]> {
    return done(await this.session.get<RunEvent[]>(this.path(run, '/events?limit=10000'))).data;
  }

  /** Waits until the run has stored an event of the type. */
  async event(run: CrashRun, type: string): Promise<RunEvent> {
    const found = await eventually(
      async () => (await this.events(run)).find((event) => event.type === type),
      (event) => event !== undefined,
      PATIENCE_MS,
    );
    if (!found) throw new Error(`There is no event ${type}.`);
    return found;
  }

  async messages({ sessionId }: CrashRun): Promise<Record<string, unknown>[]> {
    const path = `/coding/harness/sessions/${sessionId}/messages?limit=10000`;
    return done(await this.session.get<Record<string, unknown>[]>(path)).data;
  }

  stream(run: CrashRun, headers: Record<string, string> = {}): Promise<RunStream> {
    return RunStream.open(this.session, this.path(run, '/events/stream'), headers);
  }

  /** The content of a file of the run's workspace; undefined when there is none. */
  content({ workspace }: CrashRun, path: string): string | undefined {
    const file = join(workspace, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  write({ workspace }: CrashRun, files: Readonly<Record<string, string>>): void {
    write(workspace, files);
  }

  /**
   * From now on whatever stores such an event of the session waits; a tool.started only where the call is about to act, not
   * where it is stored with the end of a call that never did. PostgreSQL alone.
   */
  async close(sessionId: string, { type, detail }: Gate): Promise<void> {
    await this.gates?.query('INSERT INTO test_gate VALUES ($1, $2, $3)', [
      sessionId,
      type,
      detail ?? null,
    ]);
  }

  /** Waits until so many transactions wait at gates. */
  async waiting(count: number): Promise<void> {
    await eventually(
      async () => {
        const found = await this.gates?.query<{ count: string }>(
          `SELECT count(*) AS count FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          [GATE],
        );
        return Number(found?.rows[0]?.count);
      },
      (found) => found === count,
      PATIENCE_MS,
    );
  }

  /** Takes the gates away; what waits at them must have been killed. */
  async open(): Promise<void> {
    await this.gates?.query('DELETE FROM test_gate');
  }

  private async openGates(url: string): Promise<void> {
    this.gates = new pg.Client({ connectionString: url });
    await this.gates.connect();
    await this.gates.query(GATES);
    await this.gates.query('SELECT pg_advisory_lock($1)', [GATE]);
  }
}

/** Only the test's own database has this; the service knows nothing of it. */
const GATES = `
  CREATE TABLE test_gate (session_id uuid, type text, detail text);
  CREATE FUNCTION test_gate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM test_gate g WHERE g.session_id = NEW.session_id AND g.type = NEW.type
                    AND (g.detail IS NULL OR g.detail IN (NEW.data ->> 'toolName', NEW.data ->> 'iteration')))
        AND (NEW.type <> 'tool.started' OR EXISTS (SELECT 1 FROM harness_effect e
                    WHERE e.tool_call_id = NEW.tool_call_id AND e.state = 'STARTED')) THEN
        PERFORM pg_advisory_xact_lock(${GATE});
      END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER test_gate BEFORE INSERT ON harness_event FOR EACH ROW EXECUTE FUNCTION test_gate();
`;

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
