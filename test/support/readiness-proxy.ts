import { Agent, createServer, request as send } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request as probe } from 'undici';
import { eventually } from './wait.js';

/** An answer of the readiness route counts for so long; shorter than the drain of a process that stops. */
const PROBE_MS = 500;

/** A process that answers nothing for so long, such as a frozen one, gets no more requests. */
const PROBE_TIMEOUT_MS = 3_000;

/** A process behind the proxy. */
interface Upstream {
  readonly address: string;
  /** Keeps connections alive, as load balancers do. */
  readonly agent: Agent;
  /** The last probe, and when it began. */
  ready: Promise<boolean>;
  probedAt: number;
}

/**
 * A load balancer as it stands before several processes: gives each request to a process whose readiness route has just
 * answered 200, in turns, and to another one when the connection is refused. It repeats nothing that it has sent.
 */
export class ReadinessProxy {
  private readonly upstreams = new Map<string, Upstream>();
  private turn = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (incoming: IncomingMessage, answer: ServerResponse) => {
      void this.pass(incoming, answer);
    });
  }

  static async start(): Promise<ReadinessProxy> {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return new ReadinessProxy(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  add(address: string): void {
    const agent = new Agent({ keepAlive: true });
    this.upstreams.set(address, { address, agent, ready: Promise.resolve(false), probedAt: 0 });
  }

  remove(address: string): void {
    this.upstreams.get(address)?.agent.destroy();
    this.upstreams.delete(address);
  }

  async close(): Promise<void> {
    for (const address of this.upstreams.keys()) this.remove(address);
    const closed = new Promise((done) => this.server.close(done));
    this.server.closeAllConnections();
    await closed;
  }

  private async pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const ready = await eventually(
      () => this.readyOnes(),
      ({ length }) => length > 0,
    );
    this.turn += 1;
    const inTurn = ready.map((_, index) => ready[(index + this.turn) % ready.length]);
    this.tryNext(
      inTurn.filter((one) => one !== undefined),
      incoming,
      answer,
    );
  }

  private tryNext(
    [upstream, ...others]: readonly Upstream[],
    incoming: IncomingMessage,
    answer: ServerResponse,
  ): void {
    if (!upstream) {
      answer.writeHead(502).end('Every process has refused the connection.');
      return;
    }
    const { method, url, headers } = incoming;
    const { agent } = upstream;
    const outgoing = send(upstream.address + (url ?? '/'), { method, headers, agent });
    outgoing.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, endToEnd(response.headers));
      response.pipe(answer);
      response.on('error', () => answer.destroy());
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') this.tryNext(others, incoming, answer);
      else if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end(String(error));
    });
    answer.on('close', () => outgoing.destroy());
    // Before the connection stands, nothing is taken from the request: another process can still have it.
    outgoing.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => incoming.pipe(outgoing));
      else incoming.pipe(outgoing);
    });
  }

  private async readyOnes(): Promise<Upstream[]> {
    const all = [...this.upstreams.values()];
    const ready = await Promise.all(all.map((one) => isReady(one)));
    return all.filter((_, index) => ready[index]);
  }
}

function isReady(upstream: Upstream): Promise<boolean> {
  const now = Date.now();
  if (now - upstream.probedAt < PROBE_MS) return upstream.ready;
  upstream.probedAt = now;
  upstream.ready = readinessOf(upstream);
  return upstream.ready;
}

async function readinessOf({ address }: Upstream): Promise<boolean> {
  try {
    const { statusCode, body } = await probe(`${address}/health/ready`, {
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

/** Without those that belong to one connection. */
function endToEnd(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const kept = { ...headers };
  delete kept.connection;
  delete kept['keep-alive'];
  delete kept['transfer-encoding'];
  return kept;
}
