import type { Request } from 'express';
import { msg, sentences } from '../message/index.js';
import type { Message } from '../message/index.js';
import { DomainError } from './domain.error.js';
import type { FailureShape } from './failure-shape.js';

/** An address of an interface with a protocol of its own, which no route has, or none with this method. */
export class NoRouteError extends DomainError {
  constructor(
    readonly code: 404 | 405,
    message: Message,
    /** The methods of the address, for the header Allow. */
    readonly allow?: string,
  ) {
    super(message);
  }
}

/** What is wrong with the address or the method of a request that no route has taken. */
export function noRouteError(request: Request, { advice }: FailureShape): NoRouteError {
  const { method, path } = request;
  // As the client wrote it, where it is another name of the path.
  const written = request.originalUrl.split('?', 1)[0] ?? path;
  const methods = methodsOf(request, path);
  if (methods.length > 0) {
    const allow = methods.join(', ');
    return new NoRouteError(405, msg`${written} does not take ${method}. Use ${allow}.`, allow);
  }
  const message = msg`There is no ${method} ${written}.`;
  const more = advice?.(path, (other) => methodsOf(request, other).length > 0);
  return new NoRouteError(404, more === undefined ? message : sentences([message, more]));
}

/** A layer of a route in the router of Express (router 2). */
interface RouteLayer {
  readonly route: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

function isRouteLayer(layer: object): layer is RouteLayer {
  return 'match' in layer && 'route' in layer && layer.route !== undefined;
}

/** The methods that routes have for a path, in capitals. */
function methodsOf({ app }: Request, path: string): string[] {
  const layers: readonly object[] = app.router.stack;
  const found = new Set<string>();
  for (const layer of layers) {
    if (!isRouteLayer(layer) || !layer.match(path)) continue;
    for (const method of Object.keys(layer.route.methods)) found.add(method.toUpperCase());
  }
  if (found.has('GET')) found.add('HEAD');
  return [...found].sort();
}
