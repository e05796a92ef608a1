import { type JsonObject, type JsonValue, isObject, objectsOf, stringOf } from '../http/json.js';
import type { Behaviour, ScriptedToolCall } from './behaviour.js';

export const NUMBERS = [
  'status',
  'retryAfter',
  'retryAfterDate',
  'failFirst',
  'chunks',
  'inputTokens',
  'outputTokens',
  'firstMs',
  'delayMs',
  'commentsMs',
  'stall',
  'reset',
  'cut',
  'error',
  'malformed',
  'polls',
] as const satisfies readonly (keyof Behaviour)[];

export const FLAGS = [
  'hold',
  'leak',
  'echo',
  'unicode',
  'huge',
  'refusal',
  'length',
  'noUsage',
  'emptyChoices',
  'noDone',
  'wrongUtf8',
  'byteSplit',
  'crlf',
  'oneWrite',
  'tooFew',
  'tooMany',
  'sameIndex',
  'notFinite',
  'zeros',
  'ragged',
  'taskFail',
  'emptyResult',
] as const satisfies readonly (keyof Behaviour)[];

/** Texts that a model name can carry. */
export const NAMES = ['toolCall', 'taskState'] as const satisfies readonly (keyof Behaviour)[];

const TEXTS = [
  'text',
  'reasoning',
  'finishReason',
  ...NAMES,
] as const satisfies readonly (keyof Behaviour)[];

type NumberMember = (typeof NUMBERS)[number];
type FlagMember = (typeof FLAGS)[number];
type TextMember = (typeof TEXTS)[number];

/** A model name or script uses a word that the simulator does not know. */
export class UnknownBehaviour extends Error {}

/** Checks a behaviour that came over the wire; a misspelt member is refused rather than ignored. */
export function readBehaviour(json: JsonObject): Behaviour {
  const behaviour: Behaviour = {};
  for (const [name, value] of Object.entries(json)) {
    if (value !== undefined) readMember(behaviour, name, value);
  }
  return behaviour;
}

function readMember(behaviour: Behaviour, name: string, value: JsonValue): void {
  if (isNumberMember(name) && typeof value === 'number') behaviour[name] = value;
  else if (isFlagMember(name) && typeof value === 'boolean') behaviour[name] = value;
  else if (isTextMember(name) && typeof value === 'string') behaviour[name] = value;
  else if (name === 'body') behaviour.body = value;
  else if (name === 'headers' && isObject(value)) behaviour.headers = readHeaders(value);
  else if (name === 'toolCalls') behaviour.toolCalls = objectsOf(value).map(readToolCall);
  else throw new UnknownBehaviour(`Unknown behaviour: ${name} = ${JSON.stringify(value)}`);
}

function readHeaders(json: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, stringOf(value)]));
}

function readToolCall(json: JsonObject): ScriptedToolCall {
  const call: ScriptedToolCall = { name: stringOf(json['name']) };
  if (typeof json['id'] === 'string') call.id = json['id'];
  if (json['arguments'] !== undefined) call.arguments = json['arguments'];
  return call;
}

function isNumberMember(name: string): name is NumberMember {
  return NUMBERS.some((member) => member === name);
}

function isFlagMember(name: string): name is FlagMember {
  return FLAGS.some((member) => member === name);
}

function isTextMember(name: string): name is TextMember {
  return TEXTS.some((member) => member === name);
}
