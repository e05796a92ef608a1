import { z } from 'zod';
import { anyOf, literal, msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { ParameterError, UnsupportedParameterError } from './api.errors.js';
import { NO_EFFORT } from '../../provider/index.js';
import type { TranslatedCall } from './api.request.js';
import type { FormValue } from '../../provider/index.js';

/** Limits of a request. */
export const MAX_MESSAGES = 10_000;
export const MAX_TOOLS = 128;

/** Maximum length of a parameter name in an error message. */
const MAX_NAME_CHARS = 200;

/**
 * Reads the parameters of a request. Throws ParameterError for the first that is wrong, and UnsupportedParameterError for one
 * that the schema does not have.
 */
export function parameters<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  if (body === undefined) {
    throw new ParameterError(
      'body',
      msg`The request has no JSON body. Send one with the header Content-Type: application/json.`,
    );
  }
  const { data, error } = schema.safeParse(withoutNothing(body), { reportInput: true });
  if (!error) return data;
  const issue = deepest(error.issues[0]);
  if (issue?.code === 'unrecognized_keys') {
    throw new UnsupportedParameterError(nameOf([...issue.path, issue.keys[0] ?? '']));
  }
  const param = nameOf(issue?.path ?? []);
  const isTyped = issue?.code === 'invalid_type' || issue?.code === 'invalid_union';
  if (isTyped && issue.input === undefined) {
    throw new ParameterError(param, msg`The parameter ${param} is required.`);
  }
  const problem = problemOf(issue);
  throw new ParameterError(
    param,
    msg`The parameter ${param} is not valid: ${problem}. Correct it.`,
  );
}

/** Effort level of thinking. The service refuses unknown values. */
export const effort = z.string().regex(/^[a-z]{1,20}$/, 'it must be a word such as low or high');

const MAX_MODEL_CHARS = 200;

/** A non-empty text without NUL and lone surrogates, which PostgreSQL refuses. */
export const plainText = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .refine((text) => !text.includes('\0'), 'it must not contain the character NUL')
    .transform((text) => text.toWellFormed());

/** The name of a model. */
export const modelName = plainText(MAX_MODEL_CHARS)
  .transform((name) => name.trim())
  .refine((name) => name !== '', 'it must not be blank');

const AGENT = /^agent-([1-9]\d{0,15})$/;

/** The agent id in a model id; undefined for a model. */
export function agentIdIn(model: string): number | undefined {
  const [, digits] = AGENT.exec(model) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

type Issue = z.core.$ZodIssue;

/** The issue of the best-fitting union member. */
function deepest(issue: Issue | undefined): Issue | undefined {
  if (issue?.code !== 'invalid_union') return issue;
  const tried = issue.errors.flatMap(([first]) => (first ? [first] : []));
  const inner = tried
    .map((one) => deepest({ ...one, path: [...issue.path, ...one.path] }) ?? one)
    .sort((one, other) => rankOf(other) - rankOf(one))[0];
  return inner && rankOf(inner) > 2 * issue.path.length ? inner : issue;
}

/** Rank of a union member by its issue: deeper issues rank higher, and a wrong type ranks lowest at its depth. */
function rankOf({ path, code }: Issue): number {
  return 2 * path.length + (code === 'invalid_type' ? 0 : 1);
}

/** Display names of zod's JSON types. */
const TYPES: Readonly<Record<string, Message>> = {
  string: msg`a text`,
  number: msg`a number`,
  int: msg`a whole number`,
  boolean: msg`true or false`,
  array: msg`a list`,
  object: msg`an object`,
  record: msg`an object`,
  null: msg`null`,
};

/** Maximum allowed values listed in an error message. */
const MAX_NAMED_VALUES = 20;

/** Describes the expected value. */
function problemOf(issue: Issue | undefined): Message {
  switch (issue?.code) {
    case 'invalid_type':
      return msg`it must be ${typeName(issue.expected)}`;
    case 'invalid_value':
      return msg`it must be ${valuesOf(issue.values)}`;
    case 'invalid_union': {
      // Lists the types of all members if none matches, or the allowed discriminators.
      if ('options' in issue && Array.isArray(issue.options)) {
        return msg`it must be ${valuesOf(issue.options)}`;
      }
      const types = issue.errors.flatMap(([first]) =>
        first?.code === 'invalid_type' ? [typeName(first.expected)] : [],
      );
      if (types.length > 0) return msg`it must be ${anyOf([...new Set(types)])}`;
      return msg`its value has none of the supported forms`;
    }
    case 'too_small':
    case 'too_big':
      return sizeProblem(issue);
    case 'invalid_format':
    case 'custom':
      // The rule defines its own message.
      return literal(issue.message);
    default:
      return msg`its value has none of the supported forms`;
  }
}

function typeName(expected: string): Message {
  return TYPES[expected] ?? literal(expected);
}

function valuesOf(values: readonly unknown[]): Message {
  return anyOf(values.slice(0, MAX_NAMED_VALUES).map((value) => JSON.stringify(value)));
}

function sizeProblem(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): Message {
  const limit = Number(issue.code === 'too_small' ? issue.minimum : issue.maximum);
  const isLow = issue.code === 'too_small';
  switch (issue.origin) {
    case 'string':
      return isLow
        ? msg`it must have at least ${limit} characters`
        : msg`it must have at most ${limit} characters`;
    case 'array':
      return isLow
        ? msg`it must have at least ${limit} entries`
        : msg`it must have at most ${limit} entries`;
    default:
      return isLow ? msg`it must be at least ${limit}` : msg`it must be at most ${limit}`;
  }
}

/** `messages[0].content`; the body itself has no name of its own. */
function nameOf(path: readonly PropertyKey[]): string {
  const name = path
    .map((part, at) =>
      typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`,
    )
    .join('');
  return name === '' ? 'body' : name.slice(0, MAX_NAME_CHARS);
}

/** Null counts as absent. */
function withoutNothing(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

/** Effort level of thinking as sent by the client. */
export function effortOf(
  word: string | null | undefined,
): Pick<TranslatedCall, 'effort' | 'thinking'> {
  if (!word) return {};
  return { effort: word, ...(word === NO_EFFORT && { thinking: false }) };
}

// Form fields are always texts.

/** A boolean form field. */
export const formFlag = z
  .union([z.boolean(), z.enum(['true', 'false', 'True', 'False', '1', '0'])])
  .transform((value) => value === true || ['true', 'True', '1'].includes(String(value)));

/** A number as a form field or in JSON. */
export const formNumber = (min: number, max: number) =>
  z
    .union([z.number(), z.string().regex(/^\s*-?\d+(\.\d+)?\s*$/, 'a number is expected')])
    .transform(Number)
    .pipe(z.number().min(min).max(max));

/** Fields of a form as a service of the protocol reads them: `a[]` for each of a list, `a[b]` for a field of an object. */
export function formFields(fields: Readonly<Record<string, unknown>>): Record<string, FormValue> {
  const flat: Record<string, FormValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (Array.isArray(value)) flat[`${name}[]`] = value.map(textOf);
    else if (typeof value === 'object' && value !== null) {
      const inner = Object.entries(value).map(([key, one]) => [`${name}[${key}]`, textOf(one)]);
      Object.assign(flat, Object.fromEntries(inner));
    } else if (value !== undefined && value !== null) flat[name] = textOf(value);
  }
  return flat;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The body with its assistant messages rewritten, for a model service of the same protocol. The same body where `rewrite` answers the
 * same messages.
 */
export function withAssistantMessages(
  body: Readonly<Record<string, unknown>>,
  rewrite: (message: Readonly<Record<string, unknown>>) => object,
): Readonly<Record<string, unknown>> {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  const rewritten = messages.map((message: unknown) =>
    isAssistant(message) ? rewrite(message) : message,
  );
  return rewritten.every((message, at) => message === messages[at])
    ? body
    : { ...body, messages: rewritten };
}

function isAssistant(message: unknown): message is Readonly<Record<string, unknown>> {
  return (message as { readonly role?: unknown } | null)?.role === 'assistant';
}
