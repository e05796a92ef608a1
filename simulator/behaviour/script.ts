import { type JsonObject, type JsonValue, isObject } from '../http/json.js';
import type { Behaviour } from './behaviour.js';
import { behaviourOfModelName } from './model-name.js';
import { readBehaviour, UnknownBehaviour } from './vocabulary.js';

/** A behaviour for one coming request; without `match` it applies to the very next one. */
export interface ScriptStep extends Behaviour {
  /** `model` is compared exactly, `path` with the end of the request path. */
  match?: { model?: string; path?: string };
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

  /** What the model name asks for, with the first matching step (which is used up) on top. */
  take(path: string, model: string): Behaviour {
    const index = this.steps.findIndex((step) => matches(step, path, model));
    const [step] = index < 0 ? [] : this.steps.splice(index, 1);
    const { match: _match, ...scripted } = step ?? {};
    return { ...behaviourOfModelName(model), ...scripted };
  }

  /** Whether this request is among the first ones that must fail; counts it when it is. */
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
  const { match, ...behaviour } = json;
  const step: ScriptStep = readBehaviour(behaviour);
  if (match !== undefined) step.match = readMatch(match);
  return step;
}

function readMatch(json: JsonValue): { model?: string; path?: string } {
  const { model, path, ...rest }: JsonObject = isObject(json) ? json : { json };
  if (Object.keys(rest).length > 0) throw new UnknownBehaviour('match takes model and path');
  return {
    ...(typeof model === 'string' && { model }),
    ...(typeof path === 'string' && { path }),
  };
}

function matches({ match }: ScriptStep, path: string, model: string): boolean {
  if (match?.model !== undefined && match.model !== model) return false;
  return match?.path === undefined || path.endsWith(match.path);
}
