import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Transform } from 'node:stream';

/** Stands between a client and a server, so that a test can take the server away and bring it back. */
export class TcpRelay {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  /** What each open socket forwards to. */
  private readonly flows = new Map<Socket, NodeJS.WritableStream>();
  /** Connections that were taken while the server was frozen. */
  private readonly waiting = new Set<Socket>();
  private port = 0;
  private silent = false;
  private frozen = false;
  private delayMs = 0;

  constructor(private readonly target: URL) {}

  /** Listens, on the same port as before after a cut. Answers the target's address with this port instead. */
  async open(): Promise<string> {
    const server = createServer((socket) => this.pipe(socket));
    await new Promise<void>((done) => server.listen(this.port, '127.0.0.1', done));
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    const address = new URL(this.target);
    address.host = `127.0.0.1:${this.port}`;
    return address.href;
  }

  /** Ends every connection and refuses new ones. */
  async cut(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    const closed = new Promise((done) => server.close(done));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /**
   * Forwards nothing until the thaw, as when the process of the server is stopped by a signal or its container is paused:
   * connections stay open, new ones are taken, and what was sent meanwhile arrives after the thaw.
   */
  freeze(): void {
    this.frozen = true;
    for (const socket of this.flows.keys()) {
      socket.unpipe();
      socket.pause();
    }
  }

  thaw(): void {
    this.frozen = false;
    for (const [socket, target] of this.flows) socket.pipe(target);
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const socket of waiting) this.forward(socket);
  }

  /** Delays whatever new connections send, in each direction; 0 ends that. */
  slow(delayMs: number): void {
    this.delayMs = delayMs;
  }

  /**
   * Forwards nothing any more on the connections that are open, and closes none of them, as when a server has vanished
   * without a word. New connections work, unless they shall be `silent` as well: then they are taken and never answered.
   */
  silence({ silent = false } = {}): void {
    this.silent = silent;
    this.flows.clear();
    for (const socket of this.sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  /** New connections are answered again; those that have gone silent stay so. */
  speak(): void {
    this.silent = false;
  }

  private pipe(near: Socket): void {
    if (!this.server) {
      near.destroy();
      return;
    }
    if (this.silent || this.frozen) {
      this.sockets.add(near);
      if (this.frozen) this.waiting.add(near);
      near.on('error', () => near.destroy());
      near.on('close', () => {
        this.sockets.delete(near);
        this.waiting.delete(near);
      });
      return;
    }
    this.forward(near);
  }

  private forward(near: Socket): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        this.flows.delete(socket);
        other.destroy();
      });
      const target = this.delayMs === 0 ? other : delayed(this.delayMs);
      if (target !== other) target.pipe(other);
      this.flows.set(socket, target);
      socket.pipe(target);
    }
  }
}

function delayed(delayMs: number): Transform {
  return new Transform({
    transform: (chunk, _, done) => void setTimeout(() => done(null, chunk), delayMs),
  });
}
