import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { z } from 'zod';
import { QdrantCollection } from './qdrant-collection.js';
import * as requests from './qdrant-requests.js';
import type { Filter } from './qdrant-requests.js';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly encoding: string | undefined;
}

/** What to do instead of answering; undefined answers as usual. */
type Fault = (asked: Asked, response: ServerResponse) => boolean;

class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * A Qdrant in memory, over real HTTP: the routes that Plinth uses. A body of any other form than the client package's
 * types allow, a change that is not waited for, or a filter without an index is answered with HTTP 400 and remembered.
 */
export class QdrantStandIn {
  version = '1.15.0';
  apiKey: string | undefined;
  fault: Fault | undefined;
  readonly collections = new Map<string, QdrantCollection>();
  readonly asked: Asked[] = [];
  /** Requests that a real server would have refused. */
  readonly wrong: string[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<QdrantStandIn> {
    const server = createServer();
    const qdrant = new QdrantStandIn(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void qdrant.serve(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return qdrant;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    const asked = {
      method: request.method ?? '',
      path: pathname,
      encoding: header(request, 'accept-encoding'),
    };
    this.asked.push(asked);
    const hasBody = asked.method === 'POST' || asked.method === 'PUT';
    const body: unknown = hasBody ? await json(request).catch(() => undefined) : undefined;
    if (this.fault?.(asked, response)) return;
    const answer = (status: number, content: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(content));
    };
    try {
      if (this.apiKey !== undefined && request.headers['api-key'] !== this.apiKey) {
        throw new Refusal(401, 'Invalid API key or JWT');
      }
      const waits = searchParams.get('wait') === 'true';
      const result = this.route(`${asked.method} ${pathname}`, { body, waits });
      answer(200, pathname === '/' ? result : { result, status: 'ok', time: 0 });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 400) this.wrong.push(`${asked.method} ${pathname}: ${error.message}`);
      answer(error.status, { status: { error: error.message }, time: 0 });
    }
  }

  private route(route: string, { body, waits }: { body: unknown; waits: boolean }): object {
    if (route === 'GET /') return { title: 'qdrant', version: this.version };
    if (route === 'GET /readyz') return {};
    if (route === 'GET /collections') {
      return { collections: [...this.collections.keys()].map((name) => ({ name })) };
    }
    const [, method, name = '', rest = ''] =
      /^(GET|PUT|POST) \/collections\/([\w-]+)(?:\/(.*))?$/.exec(route) ?? [];
    if (`${method} ${rest}` === 'GET exists') return { exists: this.collections.has(name) };
    if (`${method} ${rest}` === 'PUT ') return this.create(name, body);
    const collection = this.collections.get(name);
    if (!collection) throw new Refusal(404, `Not found: Collection \`${name}\` doesn't exist!`);
    return this.within(collection, `${method} ${rest}`, { body, waits });
  }

  private within(
    collection: QdrantCollection,
    action: string,
    { body, waits }: { body: unknown; waits: boolean },
  ): object {
    switch (action) {
      case 'PUT index':
        collection.indexes.push(read(requests.createFieldIndex, body));
        return completed(waits);
      case 'PUT points': {
        const problem = collection.upsert(read(requests.upsertPoints, body).points);
        if (problem !== undefined) throw new Refusal(400, problem);
        return completed(waits);
      }
      case 'POST points/delete':
        collection.remove(indexed(collection, read(requests.deletePoints, body)).filter);
        return completed(waits);
      case 'POST points/query':
        return { points: collection.query(indexed(collection, read(requests.queryPoints, body))) };
      case 'POST points/count': {
        const { filter } = indexed(collection, read(requests.countPoints, body));
        return { count: collection.count(filter) };
      }
      case 'GET points/0':
        if (!collection.marker)
          throw new Refusal(404, 'Not found: Point with id 0 does not exists!');
        return collection.marker;
      case 'POST points/scroll':
        if (requests.samplePoints.safeParse(body).success) {
          return collection.sample(read(requests.samplePoints, body));
        }
        return collection.scroll(indexed(collection, read(requests.scrollPoints, body)));
      case 'POST facet': {
        const asked = read(requests.facet, body);
        return { hits: collection.facet(indexed(collection, asked, asked.key)) };
      }
      default:
        throw new Refusal(400, 'The stand-in has no such route.');
    }
  }

  private create(name: string, body: unknown): object {
    if (this.collections.has(name)) {
      throw new Refusal(409, `Wrong input: Collection \`${name}\` already exists!`);
    }
    this.collections.set(name, new QdrantCollection(read(requests.createCollection, body)));
    return {};
  }
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  return headers[name]?.toString();
}

function read<T>(form: z.ZodType<T>, body: unknown): T {
  const result = form.safeParse(body);
  if (!result.success) throw new Refusal(400, `Format error in JSON body: ${result.error.message}`);
  return result.data;
}

function indexed<T extends { readonly filter: Filter }>(
  collection: QdrantCollection,
  asked: T,
  key?: string,
): T {
  const missing = collection.missingIndex(asked.filter, key);
  if (missing === undefined) return asked;
  throw new Refusal(400, `Bad request: Index required but not found for "${missing}".`);
}

function completed(waits: boolean): object {
  if (!waits) throw new Refusal(400, 'A change that is not waited for.');
  return { operation_id: 1, status: 'completed' };
}
