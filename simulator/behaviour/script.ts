import { type JsonObject, type JsonValue, isObject } from '../http/json.js';
import type { Behaviour } from './behaviour.js';
import { behaviourOfModelName } from './model-name.js';
import { readBehaviour, UnknownBehaviour } from './vocabulary.js';

/** A behaviour for one coming request; without `match` it applies to the very next one. */
export interface ScriptStep extends Behaviour {
  match?: StepMatch;
  /** Number of matching requests it applies to, one after the other; 1 by default. */
  times?: number;
}

interface StepMatch {
  /** Compared exactly. */
  model?: string;
  /** Compared with the end of the request path. */
  path?: string;
  /** Whether the request offers tools. */
  tools?: boolean;
}

/** Properties of a request that a step is matched with. */
interface ScriptedRequest {
  readonly path: string;
  readonly model: string;
  readonly tools: boolean;
}

/** The queued steps, and how often each model name has failed so far. */
export class Script {
  private readonly steps: ScriptStep[] = [];
  private readonly failures = new Map<string, number>();

  add(steps: readonly ScriptStep[]): void {
    this.steps.push(...steps);
  }

  /** Reads one step or a list of steps in JSON; throws UnknownBehaviour when one is not valid. */
  addJson(json: JsonValue | undefined): number {
    const list = Array.isArray(json) ? json : [json];
    const steps = list.map(readStep);
    this.add(steps);
    return steps.length;
  }

  /** Behaviour that the model name requests, overridden by the first matching step, which is used up. */
  take(request: ScriptedRequest): Behaviour {
    const index = this.steps.findIndex((step) => matches(step, request));
    const step = this.steps[index];
    const { match: _match, times = 1, ...scripted } = step ?? {};
    if (step && times > 1) this.steps[index] = { ...step, times: times - 1 };
    else if (step) this.steps.splice(index, 1);
    return { ...behaviourOfModelName(request.model), ...scripted };
  }

  /** Whether this request is among the first ones that must fail; counts it if so. */
  failsAgain(model: string, failFirst: number): boolean {
    const failed = this.failures.get(model) ?? 0;
    if (failed >= failFirst) return false;
    this.failures.set(model, failed + 1);
    return true;
  }

  clear(): void {
    this.steps.length = 0;
    this.failures.clear();
  }
}

function readStep(json: JsonValue | undefined): ScriptStep {
  if (!isObject(json)) throw new UnknownBehaviour('A script is a list of objects');
  const { match, times, ...behaviour } = json;
  const step: ScriptStep = readBehaviour(behaviour);
  if (match !== undefined) step.match = readMatch(match);
  if (typeof times === 'number' && times >= 1) step.times = times;
  else if (times !== undefined) throw new UnknownBehaviour('times is a number from 1');
  return step;
}

function readMatch(json: JsonValue): StepMatch {
  const { model, path, tools, ...rest }: JsonObject = isObject(json) ? json : { json };
  if (Object.keys(rest).length > 0) throw new UnknownBehaviour('match takes model, path and tools');
  return {
    ...(typeof model === 'string' && { model }),
    ...(typeof path === 'string' && { path }),
    ...(typeof tools === 'boolean' && { tools }),
  };
}

function matches({ match = {} }: ScriptStep, request: ScriptedRequest): boolean {
  if (match.model !== undefined && match.model !== request.model) return false;
  if (match.tools !== undefined && match.tools !== request.tools) return false;
  return match.path === undefined || request.path.endsWith(match.path);
}
