import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import type {
  ClientConnection,
  ContentBlock,
  InitializeResponse,
  LoadSessionResponse,
  NewSessionResponse,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
  SetSessionConfigOptionResponse,
} from '@agentclientprotocol/sdk';
import { eventually } from './wait.js';

const program = resolve('acp/dist/main.js');
export const isAcpBuilt = existsSync(program);

/** The decision of the person at the editor: the id of an option, or nothing while the question stays. */
export type Answerer = (request: RequestPermissionRequest) => string | Promise<string>;

/** The client of the protocol's SDK, which runs `plinth-acp` as an editor does. */
export class AcpEditor {
  readonly updates: SessionUpdate[] = [];
  readonly questions: RequestPermissionRequest[] = [];
  /** Questions that the agent has withdrawn. */
  withdrawn = 0;
  answer: Answerer = ({ options }) => options[0]?.optionId ?? '';
  stderr = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: ClientConnection,
    readonly initialized: InitializeResponse,
  ) {}

  static async start(
    environment: Readonly<Record<string, string>>,
    { terminalOutput = false } = {},
  ): Promise<AcpEditor> {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [program], {
      env: { PATH, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const output = Writable.toWeb(child.stdin);
    const input = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
    const { promise: opened, resolve: open } = Promise.withResolvers<AcpEditor>();
    const connection = client({ name: 'test' })
      .onNotification(methods.client.session.update, ({ params }) => {
        void opened.then((one) => one.updates.push(params.update));
      })
      .onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
        opened.then((one) => one.ask(params, signal)),
      )
      .connect(ndJsonStream(output, input));
    const initialized = await connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { ...(terminalOutput && { _meta: { terminal_output: true } }) },
    });
    const editor = new AcpEditor(child, connection, initialized);
    child.stderr.setEncoding('utf8').on('data', (text: string) => (editor.stderr += text));
    open(editor);
    return editor;
  }

  get agent(): ClientConnection['agent'] {
    return this.connection.agent;
  }

  async newSession(cwd: string): Promise<string> {
    return (await this.create(cwd)).sessionId;
  }

  create(cwd: string): Promise<NewSessionResponse> {
    return this.agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  }

  load(sessionId: string, cwd: string): Promise<LoadSessionResponse> {
    return this.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  }

  setOption(
    sessionId: string,
    configId: string,
    value: string,
  ): Promise<SetSessionConfigOptionResponse> {
    const request = { sessionId, configId, value };
    return this.agent.request(methods.agent.session.setConfigOption, request);
  }

  prompt(sessionId: string, ...prompt: (string | ContentBlock)[]): Promise<PromptResponse> {
    const blocks = prompt.map((one) =>
      typeof one === 'string' ? { type: 'text' as const, text: one } : one,
    );
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
  }

  /** The texts of a kind of message, put together. */
  text(kind: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk'): string {
    return this.updates
      .map((one) =>
        one.sessionUpdate === kind && one.content.type === 'text' ? one.content.text : '',
      )
      .join('');
  }

  /** The last state of each tool call, with all that its updates said. */
  calls(): Record<string, unknown>[] {
    const calls = new Map<string, Record<string, unknown>>();
    for (const update of this.updates) {
      if (update.sessionUpdate !== 'tool_call' && update.sessionUpdate !== 'tool_call_update')
        continue;
      const { sessionUpdate: _, _meta, ...fields } = update;
      const before = calls.get(update.toolCallId) ?? {};
      const meta = { ...(before['_meta'] as object), ..._meta };
      calls.set(update.toolCallId, { ...before, ...fields, _meta: meta });
    }
    return [...calls.values()];
  }

  async asked(count: number): Promise<RequestPermissionRequest> {
    await eventually(
      () => this.questions.length,
      (length) => length >= count,
      90_000,
    );
    const question = this.questions[count - 1];
    if (!question) throw new Error('The agent did not ask.');
    return question;
  }

  /** Ends the agent as an editor that is closed does. */
  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.stdin?.end();
    await exit;
  }

  private async ask(
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    this.questions.push(request);
    const withdrawal = new Promise<undefined>((end) => {
      signal.addEventListener('abort', () => end(undefined));
    });
    const optionId = await Promise.race([this.answer(request), withdrawal]);
    if (optionId === undefined) this.withdrawn += 1;
    return optionId === undefined
      ? { outcome: { outcome: 'cancelled' } }
      : { outcome: { outcome: 'selected', optionId } };
  }
}
