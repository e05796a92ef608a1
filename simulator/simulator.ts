import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { Script, type ScriptStep } from './behaviour/script.js';
import { answerControl, isControlPath } from './http/control.js';
import { Exchange } from './http/exchange.js';
import { Holds } from './http/holds.js';
import { stringOf } from './http/json.js';
import { type Answered, type RecordedRequest, Recorder, type Recording } from './http/recorder.js';
import { replyJson } from './http/reply.js';
import { Service } from './service.js';
import { TaskStore } from './media/task-store.js';

/** Longer than the pools of usual clients keep a connection, so that it is they who close it. */
const KEEP_ALIVE_MS = 65_000;

/** One running simulator: an HTTP server, its settings, and what it has received. */
export class HttpSimulator {
  readonly recorder = new Recorder();
  readonly script = new Script();
  private readonly holds = new Holds();
  private readonly tasks = new TaskStore();
  private readonly service = new Service(this.script, this.holds, this.tasks);
  private readonly open = new Set<Exchange>();
  private readonly server: Server;
  private readonly running = new Set<Promise<void>>();

  constructor() {
    this.server = createServer((request, response) => {
      const run = this.handle(request, response).finally(() => this.running.delete(run));
      this.running.add(run);
    });
    this.server.keepAliveTimeout = KEEP_ALIVE_MS;
  }

  /** Starts to listen, and returns the port. */
  async listen(port: number, host: string): Promise<number> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  get requests(): readonly RecordedRequest[] {
    return this.recorder.requests;
  }

  get total(): number {
    return this.recorder.total;
  }

  get answered(): Answered {
    return this.recorder.answered;
  }

  queue(steps: readonly ScriptStep[]): void {
    this.script.add(steps);
  }

  get held(): number {
    return this.holds.count;
  }

  release(): void {
    this.holds.release();
  }

  openConnections(): number {
    return this.open.size;
  }

  reset(): void {
    this.script.clear();
    this.holds.release();
    this.recorder.clear();
    this.tasks.clear();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
    await Promise.all(this.running);
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recording = startRecording(request);
    const exchange = new Exchange(request, response, recording);
    const isControl = isControlPath(recording.path);
    if (!isControl) {
      this.recorder.add(recording);
      this.open.add(exchange);
      exchange.onClosed(() => {
        this.open.delete(exchange);
        this.recorder.end(recording);
      });
    }
    try {
      if (!(await exchange.readBody())) return;
      recording.model = stringOf(exchange.body['model']) || undefined;
      await (isControl ? answerControl(exchange, this) : this.service.answer(exchange));
    } catch (error) {
      if (recording.status > 0) return exchange.reset();
      const message = error instanceof Error ? error.message : String(error);
      await replyJson(exchange, 500, { error: { message, type: 'simulator_error' } });
    }
  }
}

function startRecording(request: IncomingMessage): Recording {
  const [path = '/', ...query] = (request.url ?? '/').split('?');
  return {
    method: request.method ?? 'GET',
    path,
    query: query.join('?'),
    headers: request.headers,
    body: null,
    model: undefined,
    at: new Date().toISOString(),
    status: 0,
    ended: 'open',
    bytesSent: 0,
  };
}
