import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Stands between a client and a server, so that a test can take the server away and bring it back. */
export class TcpRelay {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  private port = 0;
  private silent = false;

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
   * Forwards nothing any more on the connections that are open, and closes none of them, as when a server has vanished
   * without a word. New connections work, unless they shall be `silent` as well: then they are taken and never answered.
   */
  silence({ silent = false } = {}): void {
    this.silent = silent;
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
    if (this.silent) {
      this.sockets.add(near);
      near.on('error', () => near.destroy());
      near.on('close', () => this.sockets.delete(near));
      return;
    }
    const far = connect(Number(this.target.port), this.target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
