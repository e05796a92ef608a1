import type { Response } from 'express';
import type { Caller } from '../../platform/access/index.js';
import { UnsupportedParameterError } from './door.errors.js';

/** Names the parameters that the model does not know and that were left out. The log of requests has it, too. */
const IGNORED_HEADER = 'x-plinth-ignored';

/** Longest value of the header, so that a client with many odd parameters still gets its answer. */
const MAX_HEADER_CHARS = 1_000;

/** The answer of a call; a header of the response names what of the request was left out. */
export async function namingIgnored<T>(
  caller: Pick<Caller, 'apiKey'>,
  response: Response,
  call: (ignored: IgnoredParameters) => Promise<T>,
): Promise<T> {
  const ignored = IgnoredParameters.of(caller);
  const answer = await call(ignored);
  ignored.name(response);
  return answer;
}

/**
 * The hints of one request that are left out for its model. A hint says how to answer, never what is asked, so that it ends no
 * call, unless the API key of the caller is strict.
 */
export class IgnoredParameters {
  private readonly ofRequest = new Set<string>();
  private readonly ofModel = new Set<string>();

  constructor(private readonly isStrict: boolean) {}

  static of({ apiKey }: Pick<Caller, 'apiKey'>): IgnoredParameters {
    return new IgnoredParameters(apiKey?.strictParameters === true);
  }

  /** Throws UnsupportedParameterError where the key is strict. */
  add(param: string): void {
    this.requireLenient(param);
    this.ofRequest.add(param);
  }

  /** The same for one that the model which is called lacks; another one may have it. */
  addOfModel(param: string): void {
    this.requireLenient(param);
    this.ofModel.add(param);
  }

  /** Another model is called. */
  beginModel(): void {
    this.ofModel.clear();
  }

  /** Throws UnsupportedParameterError where the key is strict: what Plinth does in place of the service is not what was asked for. */
  requireLenient(param: string): void {
    if (this.isStrict) throw new UnsupportedParameterError(param);
  }

  /** Names them in the header of an answer that has not begun. */
  name(response: Response): void {
    const names = [...new Set([...this.ofRequest, ...this.ofModel])];
    if (names.length === 0 || response.headersSent) return;
    // Names are fields of JSON, and a header takes printable characters alone.
    const list = names.map((name) => name.replaceAll(/[^\w.[\]-]/g, '_')).join(', ');
    response.setHeader(IGNORED_HEADER, list.slice(0, MAX_HEADER_CHARS));
  }
}
