import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { MediaOptions } from '../../../src/media/index.js';
import type { OutboundTimeouts } from '../../../src/platform/outbound/index.js';
import { certificateFor } from './certificate.js';
import type { Certificate } from './certificate.js';

export const IMAGE_HOST = 'images.media.example';
export const VIDEO_HOST = 'videos.media.example';
/** Has a good certificate and leads to the same server, but nobody has allowed it. */
export const OTHER_HOST = 'other.media.example';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A TLS server that stands for the hosts of media resources, and records what it is asked. */
export class MediaHost {
  readonly requests: IncomingMessage[] = [];
  /** How many answers are still open. */
  open = 0;
  private handler: Handler = (_request, response) => void response.end();

  private constructor(
    private readonly server: Server,
    private readonly certificate: Certificate,
  ) {}

  static async start(): Promise<MediaHost> {
    const certificate = certificateFor([IMAGE_HOST, VIDEO_HOST, OTHER_HOST]);
    const server = createServer(certificate);
    const host = new MediaHost(server, certificate);
    server.on('request', (request, response) => {
      host.requests.push(request);
      host.open += 1;
      response.on('close', () => (host.open -= 1));
      host.handler(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return host;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** How the next requests are answered. */
  answers(handler: Handler): void {
    this.handler = handler;
  }

  address(host = IMAGE_HOST, path = '/resource'): string {
    return `https://${host}:${this.port}${path}`;
  }

  /** Lets an application find this server in the place of the network. */
  options(timeouts?: OutboundTimeouts): MediaOptions {
    return {
      content: {
        port: this.port,
        ca: this.certificate.cert,
        allowedPrivateHosts: ['127.0.0.1'],
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        ...(timeouts && { timeouts }),
      },
    };
  }

  reset(): void {
    this.requests.length = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
