import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Stands between a client and a server, so that a test can take the server away and bring it back. */
export class TcpRelay {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  private port = 0;

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

  private pipe(near: Socket): void {
    if (!this.server) {
      near.destroy();
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
