import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';

export interface ProxyBehaviour {
  /** `user:password` that the proxy asks for. */
  login?: string;
  /** The status of every CONNECT; 200 by default. */
  connectStatus?: number;
  /** Never answers a CONNECT. */
  silent?: boolean;
  /** Answers within the tunnel itself, with this certificate: an inspection of TLS. */
  inspect?: { readonly key: string; readonly cert: string };
}

/** An HTTP proxy on 127.0.0.1 that leads every name to one port of 127.0.0.1, and remembers what it was asked for. */
export class ProxyServer {
  behaviour: ProxyBehaviour = {};
  /** Targets of CONNECT, and absolute addresses of other requests. */
  readonly asked: string[] = [];
  targetPort = 0;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor() {
    this.server = createServer((request, response) => {
      const address = request.url ?? '';
      this.asked.push(address);
      if (!this.isAuthorized(request.headers['proxy-authorization'])) {
        response.writeHead(407, { 'proxy-authenticate': 'Basic' }).end();
        return;
      }
      const { pathname, search } = new URL(address);
      const { 'proxy-authorization': _, ...headers } = request.headers;
      const forwarded = httpRequest(
        {
          host: '127.0.0.1',
          port: this.targetPort,
          path: pathname + search,
          method: request.method,
          headers,
        },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      forwarded.on('error', () => response.writeHead(502).end());
      request.pipe(forwarded);
    });
    this.server.on('connection', (socket) => this.keep(socket));
    this.server.on('connect', (request, socket: Socket) => {
      this.asked.push(request.url ?? '');
      this.tunnel(request.headers['proxy-authorization'], socket);
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  reset(): void {
    this.behaviour = {};
    this.asked.length = 0;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private tunnel(authorization: string | undefined, socket: Socket): void {
    const { connectStatus = 200, inspect, silent = false } = this.behaviour;
    if (silent) return;
    const status = this.isAuthorized(authorization) ? connectStatus : 407;
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    if (inspect === undefined) {
      const upstream = connect(this.targetPort, '127.0.0.1');
      this.keep(upstream);
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
      return;
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const opened = new TLSSocket(socket, {
      isServer: true,
      secureContext: createSecureContext(inspect),
    });
    const upstream = connect(this.targetPort, '127.0.0.1');
    this.keep(upstream);
    this.keep(opened);
    upstream.pipe(opened).pipe(upstream);
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
  }

  private isAuthorized(header: string | undefined): boolean {
    const { login } = this.behaviour;
    return login === undefined || header === `Basic ${Buffer.from(login).toString('base64')}`;
  }
}
