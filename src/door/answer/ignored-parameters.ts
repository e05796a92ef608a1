import type { Response } from 'express';
import type { Caller } from '../../platform/access/index.js';
import { setIgnoredParameters } from '../../platform/http/index.js';
import type { CallTrail } from '../../model/index.js';
import { UnsupportedParameterError } from './door.errors.js';

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

  /**
   * Names them for the client and the request log, with those of the trail: what the service that answers refuses by name, and was
   * not sent.
   */
  name(response: Response, { leftOut }: CallTrail): void {
    setIgnoredParameters(response, [...new Set([...this.ofRequest, ...this.ofModel, ...leftOut])]);
  }
}
