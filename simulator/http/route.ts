import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from './exchange.js';
import type { Protocol } from './protocol.js';

/** One endpoint of a model service. The pattern fits the end of a path, under any base prefix. */
export interface Route {
  method: 'GET' | 'POST';
  path: RegExp;
  protocol: Protocol;
  /** True for a route without a credential, as a link to a generated file. */
  isPublic?: boolean;
  /** `parameter` is what the first group of the pattern matched. */
  handle(exchange: Exchange, behaviour: Behaviour, parameter: string): Promise<void>;
}
