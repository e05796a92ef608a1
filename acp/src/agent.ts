import { agent, methods, PROTOCOL_VERSION, RequestError } from '@agentclientprotocol/sdk';
import type {
  AgentApp,
  AgentContext,
  InitializeRequest,
  InitializeResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  NewSessionRequest,
  NewSessionResponse,
  SessionConfigOption,
  SessionModeState,
} from '@agentclientprotocol/sdk';
import { randomUUID } from 'node:crypto';
import { ApiError, ConnectionError } from '@plinth/client';
import type { HarnessSessionView, Plinth } from '@plinth/client';
import { EditorSession } from './session.js';
import { isMode, localPath, serverPath } from './settings.js';
import type { Mode, Settings } from './settings.js';

const MODE_TEXTS: Readonly<Record<Mode, { readonly name: string; readonly description: string }>> =
  {
    READ_ONLY: { name: 'Read only', description: 'Reads and answers; changes nothing' },
    WORKSPACE_WRITE: { name: 'Write', description: 'Edits files by a plan; asks before commands' },
    FULL_ACCESS: {
      name: 'Full access',
      description: 'Edits files and runs commands without asking',
    },
  };

const MODEL = 'model';
const SESSION_PAGE = 50;

/** Sessions of one editor. */
class PlinthAgent {
  private readonly sessions = new Map<string, EditorSession>();
  private models: readonly string[] = [];
  private showsTerminals = false;

  constructor(
    private readonly plinth: Plinth,
    private readonly settings: Settings,
  ) {}

  initialize({ protocolVersion, clientCapabilities }: InitializeRequest): InitializeResponse {
    this.showsTerminals = clientCapabilities?._meta?.['terminal_output'] === true;
    return {
      protocolVersion: Math.min(protocolVersion, PROTOCOL_VERSION),
      agentInfo: { name: 'plinth-acp', title: 'Plinth', version: VERSION },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
    };
  }

  async create({ cwd }: NewSessionRequest, editor: AgentContext): Promise<NewSessionResponse> {
    const [usualModel] = await this.readModels();
    const { model = usualModel, mode: permissionMode } = this.settings;
    if (model === undefined) {
      throw new RequestError(
        REFUSED,
        'The key may use no chat model. Grant it one, or set PLINTH_MODEL.',
      );
    }
    const view = await this.plinth.harnessSessionCreate({
      body: {
        workspacePath: serverPath(this.settings, cwd),
        model,
        permissionMode,
        idempotencyKey: randomUUID(),
      },
    });
    const session = this.open(view, { cwd, editor, isNew: true });
    return { sessionId: session.id, ...this.stateOf(session) };
  }

  /** Opens a session of the service; with `replays` the editor is shown what it has done. */
  async load(
    { sessionId, cwd }: { readonly sessionId: string; readonly cwd: string },
    editor: AgentContext,
    replays: boolean,
  ): Promise<Omit<NewSessionResponse, 'sessionId'>> {
    await this.readModels();
    const view = await this.plinth.harnessSessionGet({ path: { sessionId } });
    this.sessions.get(view.sessionId)?.close();
    const session = this.open(view, { cwd, editor, isNew: false });
    if (replays) await session.replay();
    await session.resume();
    return this.stateOf(session);
  }

  /** The sessions that are not deleted, a page at a time, in the editor's folder if it names one. */
  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const pageNum = Number(cursor ?? 1);
    if (!Number.isInteger(pageNum) || pageNum < 1)
      throw new RequestError(INVALID, 'No such cursor.');
    const query = { pageNum, pageSize: SESSION_PAGE };
    const views = await this.plinth.harnessSessionList({ query });
    const sessions = views
      .map(({ sessionId, workspace, title, updatedAt }) => ({
        sessionId,
        cwd: localPath(this.settings, workspace),
        title,
        updatedAt: new Date(updatedAt).toISOString(),
      }))
      .filter((one) => !cwd || one.cwd === cwd);
    const isLast = views.length < SESSION_PAGE;
    return { sessions, ...(!isLast && { nextCursor: String(pageNum + 1) }) };
  }

  async close(sessionId: string): Promise<void> {
    const session = this.session(sessionId);
    await session.cancel();
    session.close();
    this.sessions.delete(sessionId);
  }

  setMode(sessionId: string, modeId: string): void {
    const session = this.session(sessionId);
    if (!isMode(modeId) || !session.modes.includes(modeId)) {
      throw new RequestError(INVALID, `The mode must be one of ${session.modes.join(', ')}.`);
    }
    session.mode = modeId;
  }

  setOption(
    sessionId: string,
    configId: string,
    value: unknown,
  ): { configOptions: SessionConfigOption[] } {
    const session = this.session(sessionId);
    const model = this.models.find((one) => one === value);
    if (configId !== MODEL || model === undefined) {
      throw new RequestError(INVALID, 'The option must be model, and its value one of the models.');
    }
    session.model = model;
    return { configOptions: this.optionsOf(session) };
  }

  session(sessionId: string): EditorSession {
    const session = this.sessions.get(sessionId);
    if (!session) throw RequestError.resourceNotFound(sessionId);
    return session;
  }

  private open(
    view: HarnessSessionView,
    {
      isNew,
      ...facts
    }: { readonly cwd: string; readonly editor: AgentContext; readonly isNew: boolean },
  ): EditorSession {
    const { plinth, showsTerminals } = this;
    const session = new EditorSession({ ...facts, plinth, view, showsTerminals }, { isNew });
    this.sessions.set(session.id, session);
    return session;
  }

  private async readModels(): Promise<readonly string[]> {
    const { rows } = await this.plinth.modelOptions({ query: { category: 'chat' } });
    this.models = rows.map(({ modelName }) => modelName);
    return this.models;
  }

  private stateOf(session: EditorSession): {
    modes: SessionModeState;
    configOptions: SessionConfigOption[];
  } {
    const availableModes = session.modes.map((id) => ({ id, ...MODE_TEXTS[id] }));
    return {
      modes: { currentModeId: session.mode, availableModes },
      configOptions: this.optionsOf(session),
    };
  }

  private optionsOf({ model }: EditorSession): SessionConfigOption[] {
    const names = this.models.includes(model) ? this.models : [model, ...this.models];
    const options = names.map((name) => ({ value: name, name }));
    return [
      { type: 'select', id: MODEL, name: 'Model', category: 'model', currentValue: model, options },
    ];
  }
}

const VERSION = '1.0.0';

/** Codes of JSON-RPC errors: the request is wrong; the service refuses. */
const INVALID = -32602;
const REFUSED = -32000;

/** The agent, which serves one editor. */
export function plinthAgent(plinth: Plinth, settings: Settings): AgentApp {
  const sessions = new PlinthAgent(plinth, settings);
  const { agent: on } = methods;
  return agent({ name: 'plinth-acp' })
    .onRequest(on.initialize, ({ params }) => sessions.initialize(params))
    .onRequest(on.session.new, ({ params, client }) =>
      asEditorError(sessions.create(params, client)),
    )
    .onRequest(on.session.load, ({ params, client }) =>
      asEditorError(sessions.load(params, client, true)),
    )
    .onRequest(on.session.resume, ({ params, client }) =>
      asEditorError(sessions.load(params, client, false)),
    )
    .onRequest(on.session.list, ({ params }) => asEditorError(sessions.list(params)))
    .onRequest(on.session.close, ({ params }) => asEditorError(sessions.close(params.sessionId)))
    .onRequest(on.session.setMode, ({ params }) =>
      sessions.setMode(params.sessionId, params.modeId),
    )
    .onRequest(on.session.setConfigOption, ({ params: { sessionId, configId, value } }) =>
      sessions.setOption(sessionId, configId, value),
    )
    .onRequest(on.session.prompt, ({ params }) =>
      asEditorError(sessions.session(params.sessionId).prompt(params.prompt)),
    )
    .onNotification(on.session.cancel, ({ params }) => sessions.session(params.sessionId).cancel());
}

/** Refusals of the service, whose messages say what to do, as errors that the editor shows. */
async function asEditorError<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const isRefusal = error instanceof ApiError || error instanceof ConnectionError;
    throw isRefusal ? new RequestError(REFUSED, error.message) : error;
  }
}
