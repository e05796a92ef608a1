import type { Response } from 'express';
import type { Caller } from '../../platform/access/index.js';
import { setIgnoredParameters } from '../../platform/http/index.js';
import type { CallTrail, ResolvedModel } from '../../model/index.js';
import { UnsupportedParameterError } from './api.errors.js';

/** What a protocol calls the hints that others write differently. */
export interface HintNames {
  readonly effort: string;
  readonly parallelToolCalls: string;
}

/** The same hints by their names at services. */
const HINTS_OF_SERVICES: Readonly<Record<string, keyof HintNames>> = {
  reasoning_effort: 'effort',
  'reasoning.effort': 'effort',
  'output_config.effort': 'effort',
  parallel_tool_calls: 'parallelToolCalls',
  disable_parallel_tool_use: 'parallelToolCalls',
};

/**
 * The hints of one request that are left out for its model. A hint says how to answer, never what is asked, so that it ends no
 * call, unless the API key of the caller or the model is strict.
 */
export class IgnoredParameters {
  private readonly ofRequest = new Set<string>();
  private readonly ofModel = new Set<string>();
  private hasStrictModel = false;

  constructor(private readonly hasStrictKey: boolean) {}

  static of({ apiKey }: Pick<Caller, 'apiKey'>): IgnoredParameters {
    return new IgnoredParameters(apiKey?.strictParameters === true);
  }

  /** Throws UnsupportedParameterError where the key or the model is strict. */
  add(param: string): void {
    this.requireLenient(param);
    this.ofRequest.add(param);
  }

  /** The same for one that the model which is called lacks; another one may have it. */
  addOfModel(param: string): void {
    this.requireLenient(param);
    this.ofModel.add(param);
  }

  /** The model, or another one, is called. Throws UnsupportedParameterError where it is strict and the request has lost a hint. */
  beginModel({ strictParameters = false }: Pick<ResolvedModel, 'strictParameters'>): void {
    this.ofModel.clear();
    this.hasStrictModel = strictParameters;
    for (const param of this.ofRequest) this.requireLenient(param);
  }

  /** Throws UnsupportedParameterError where the key or the model is strict: what Plinth does in place of the service is not what was asked for. */
  requireLenient(param: string): void {
    if (this.hasStrictKey || this.hasStrictModel) throw new UnsupportedParameterError(param);
  }

  /**
   * Names them for the client and the request log, with those of the trail: what the service that answers refuses by name, and was
   * not sent. Those that protocols write differently have the names of the client.
   */
  name(response: Response, { leftOut }: CallTrail, names?: HintNames): void {
    const refused = leftOut.map((name) => {
      const hint = Object.hasOwn(HINTS_OF_SERVICES, name) ? HINTS_OF_SERVICES[name] : undefined;
      return (hint && names?.[hint]) ?? name;
    });
    setIgnoredParameters(response, [...new Set([...this.ofRequest, ...this.ofModel, ...refused])]);
  }
}
