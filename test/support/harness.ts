import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startSimulator } from '../../simulator/index.js';
import type { ScriptStep, Simulator } from '../../simulator/index.js';
import { MODEL_RETRY } from '../../src/harness/engine/model.calls.js';
import { canary } from './canary.js';
import { RunStream } from './harness-stream.js';
import type { RunEvent } from './harness-stream.js';
import { createModel, createProvider } from './models.js';
import { done } from './people.js';
import { Plinth } from './plinth.js';
import type { Answer, Session } from './session.js';
import { eventually } from './wait.js';

/** The chat model of every harness test; it calls tools and sees pictures. */
export const CODER = 'coder';

/** What the workspace holds unless a test says otherwise. */
const EXAMPLE_FILES: Readonly<Record<string, string>> = {
  'README.md': '# Example\n\nA tiny project.\n',
  'package.json': '{ "name": "example", "type": "module" }\n',
  'src/add.js': 'export function add(a, b) {\n  return a - b;\n}\n',
  'src/index.js': "import { add } from './add.js';\n\nconsole.log(add(1, 2));\n",
};

export interface HarnessOptions {
  /** Overrides variables of the configuration. */
  readonly environment?: Record<string, string>;
  /** Files of the workspace by their paths, instead of the example's. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Fields of the model, over those of one that can do everything. */
  readonly model?: Readonly<Record<string, unknown>>;
}

export interface SessionView {
  readonly sessionId: string;
  readonly [field: string]: unknown;
}

export interface RunView {
  readonly runId: string;
  readonly sessionId: string;
  readonly status: string;
  readonly phase: string;
  readonly revision: number;
  readonly stopReason: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly [field: string]: unknown;
}

type RunKey = Pick<RunView, 'sessionId' | 'runId'>;

/** How long a run may take on a busy machine. */
const RUN_MS = 150_000;
let keys = 0;

// No test waits for the pauses between the tries of a call.
MODEL_RETRY.pauseMs = 1;

/** An idempotency key that nobody has used. */
export function freshKey(): string {
  keys += 1;
  return `key-${process.pid}-${Date.now()}-${keys}`;
}

/**
 * A running Plinth with the coding harness on a workspace of its own, a chat model served by a simulator, and the super
 * administrator signed in. Whatever a method does, it does as `session` unless it is given another one.
 */
export class Harness {
  private constructor(
    readonly plinth: Plinth,
    readonly simulator: Simulator,
    readonly session: Session,
    /** The one root below which tenant 000000 may have workspaces. */
    readonly root: string,
  ) {}

  static async start(options: HarnessOptions = {}): Promise<Harness> {
    const { environment, files = EXAMPLE_FILES, model } = options;
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-workspaces-')));
    const simulator = await startSimulator();
    const plinth = await Plinth.start({ HARNESS_ROOTS: root, ...environment });
    const session = await plinth.signIn();
    await createProvider(session, 'custom_api');
    const apiKey = canary.plant('harness');
    await createModel(session, { ...ABLE_MODEL, apiKey, apiHost: simulator.url, ...model });
    const harness = new Harness(plinth, simulator, session, root);
    harness.write(files);
    return harness;
  }

  /** The folder that sessions of this harness work in. */
  get workspace(): string {
    return join(this.root, 'example');
  }

  /** Puts files into the workspace, making their folders. */
  write(files: Readonly<Record<string, string | Buffer>>): void {
    mkdirSync(this.workspace, { recursive: true });
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.workspace, path)), { recursive: true });
      writeFileSync(join(this.workspace, path), content);
    }
  }

  /** What the model answers to its next requests, in their order (simulator/behaviour). */
  script(...steps: ScriptStep[]): void {
    this.simulator.script(...steps);
  }

  /** A session in the workspace, WORKSPACE_WRITE and ON_REQUEST unless told otherwise. */
  async createSession(
    over: Readonly<Record<string, unknown>> = {},
    by: Session = this.session,
  ): Promise<SessionView> {
    const path = '/coding/harness/sessions';
    return done(await by.post<SessionView>(path, { ...this.sessionBody(), ...over })).data;
  }

  /** What `createSession` sends. */
  sessionBody(): Record<string, unknown> {
    return {
      workspacePath: this.workspace,
      model: CODER,
      permissionMode: 'WORKSPACE_WRITE',
      approvalPolicy: 'ON_REQUEST',
      title: 'Example',
      idempotencyKey: freshKey(),
    };
  }

  async createRun(
    sessionId: string,
    over: Readonly<Record<string, unknown>> = {},
    by: Session = this.session,
  ): Promise<RunView> {
    const body = { requirement: 'Fix add()', idempotencyKey: freshKey(), ...over };
    return done(await by.post<RunView>(`/coding/harness/sessions/${sessionId}/runs`, body)).data;
  }

  /** The address of a run, or of what is below it. */
  path({ sessionId, runId }: RunKey, below = ''): string {
    return `/coding/harness/sessions/${sessionId}/runs/${runId}${below}`;
  }

  async run(run: RunKey, by: Session = this.session): Promise<RunView> {
    return done(await by.get<RunView>(this.path(run))).data;
  }

  /** Posts to a route below a run. */
  post<Data = RunView>(run: RunKey, below: string, body: object = {}): Promise<Answer<Data>> {
    return this.session.post<Data>(this.path(run, below), body);
  }

  /** The run once it has one of the statuses; throws with its last state when it does not come to that. */
  waitFor(run: RunKey, ...statuses: string[]): Promise<RunView> {
    return eventually(
      () => this.run(run),
      ({ status }) => statuses.includes(status),
      RUN_MS,
    );
  }

  /** The run once it is over, however it has ended. */
  ended(run: RunKey): Promise<RunView> {
    return this.waitFor(run, 'COMPLETED', 'FAILED', 'CANCELLED');
  }

  /** The stored events of a run. */
  async events(run: RunKey, by: Session = this.session): Promise<RunEvent[]> {
    const path = this.path(run, '/events?limit=10000');
    return done(await by.get<RunEvent[]>(path)).data;
  }

  async messages({ sessionId }: Pick<RunKey, 'sessionId'>): Promise<Record<string, unknown>[]> {
    const path = `/coding/harness/sessions/${sessionId}/messages?limit=10000`;
    return done(await this.session.get<Record<string, unknown>[]>(path)).data;
  }

  /** Opens the event stream of a run. */
  sse(run: RunKey, query = '', headers: Record<string, string> = {}): Promise<RunStream> {
    return RunStream.open(this.session, this.path(run, `/events/stream${query}`), headers);
  }

  async stop(): Promise<void> {
    try {
      await this.plinth.stop();
    } finally {
      await this.simulator.close();
      rmSync(this.root, { recursive: true, force: true });
    }
  }
}

const ABLE_MODEL = {
  modelName: CODER,
  apiKey: 'simulated-key',
  contextWindow: 64_000,
  maxOutput: 4_096,
  supportsTools: true,
  supportsVision: true,
};

/** See Harness.start. */
export function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  return Harness.start(options);
}
