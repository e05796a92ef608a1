import { runInThisContext } from 'node:vm';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { patternOf } from './linear-pattern.js';
import { problemsOfSchema, TOO_SLOW } from './schema-walk.js';
import type { Problem } from './schema-walk.js';

// Runs on threads of its own: a schema is code that users write. References in alternatives, and patterns that RE2 does not
// know, can take hours for a short text.

export interface SchemaTask {
  /** The schema as JSON text. */
  readonly schema: string;
  readonly limitMs: number;
}

export interface AnswerTask extends SchemaTask {
  readonly text: string;
}

/** `json` is the JSON text without a code fence around it; absent when there are problems. */
export interface CheckedAnswer {
  readonly problems: readonly Problem[];
  readonly json?: string;
}

/** Maximum problems per answer; more do not help the model to correct it. */
const MAX_PROBLEMS = 10;
/** Longer texts are only checked for the first problem, because collecting all could exhaust the memory. */
const MAX_CHARS_WITH_ALL_PROBLEMS = 100_000;
const MAX_CACHED_VALIDATORS = 50;
/** Global name through which a vm script calls the work that it limits. */
const WORK = 'plinthLimitedWork';

const OPTIONS: Options = {
  // Unknown keywords are refused; the hints on style are not for schemas that tools generate.
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  // `format` is an annotation, as in JSON Schema 2020-12.
  validateFormats: false,
  // A property that every object inherits, such as toString, is not one of the answer.
  ownProperties: true,
  // Several references to one large schema must not multiply the code.
  inlineRefs: false,
  // Only code of standalone validators names the engine.
  code: { regExp: Object.assign(patternOf, { code: 'patternOf' }) },
  logger: false,
};

const validators = new Map<string, ValidateFunction>();

/** The problems of a schema; none when it can be used. */
export function checkSchema({ schema, limitMs }: SchemaTask): readonly Problem[] | typeof TOO_SLOW {
  const parsed = JSON.parse(schema) as Record<string, unknown>;
  const ajv = ajvOf(parsed);
  const walked = problemsOfSchema(parsed, (keyword) => Object.hasOwn(ajv.RULES.keywords, keyword));
  if (walked.length > 0) return walked;
  return within(limitMs, () => {
    if (ajv.validateSchema(parsed) !== true) return problemsOf(ajv.errors);
    try {
      ajv.compile(parsed);
      return [];
    } catch (error) {
      return [{ path: '', rule: 'schema', message: messageOf(error) }];
    }
  });
}

/** Checks an answer against a schema that `checkSchema` has accepted. */
export function checkAnswer({
  schema,
  text,
  limitMs,
}: AnswerTask): CheckedAnswer | typeof TOO_SLOW {
  const json = withoutFence(text);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { problems: [{ path: '', rule: 'json', message: notJson(json) }] };
  }
  return within(limitMs, () => {
    const validate = validatorOf(schema, text.length <= MAX_CHARS_WITH_ALL_PROBLEMS);
    try {
      if (validate(value)) return { problems: [], json };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      // The stack is exhausted by a schema that refers to itself.
      return { problems: [{ path: '', rule: 'depth', message: 'is nested too deep' }] };
    }
    return { problems: problemsOf(validate.errors) };
  });
}

/** Ends synchronous code, regular expressions included, after the limit. */
function within<T>(limitMs: number, work: () => T): T | typeof TOO_SLOW {
  Object.assign(globalThis, { [WORK]: work });
  try {
    return runInThisContext(`globalThis.${WORK}()`, { timeout: limitMs }) as T;
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return TOO_SLOW;
  } finally {
    Object.assign(globalThis, { [WORK]: undefined });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

function validatorOf(schema: string, allErrors: boolean): ValidateFunction {
  const key = `${allErrors}${schema}`;
  const cachedValidator = validators.get(key);
  if (cachedValidator) return cachedValidator;
  const parsed = JSON.parse(schema) as Record<string, unknown>;
  const validate = ajvOf(parsed, allErrors).compile(parsed);
  const [oldest] = validators.keys();
  if (validators.size >= MAX_CACHED_VALIDATORS && oldest !== undefined) validators.delete(oldest);
  validators.set(key, validate);
  return validate;
}

/** Creates an Ajv instance per schema, so that no schema can reference another user's. */
function ajvOf({ $schema }: Record<string, unknown>, allErrors = true): Ajv {
  const isDraft07 = typeof $schema === 'string' && $schema.includes('draft-07');
  const options = { ...OPTIONS, allErrors };
  return isDraft07 ? new Ajv(options) : new Ajv2020(options);
}

/** The JSON of an answer that puts it into a Markdown code fence, as many models do whatever they are told. */
export function withoutFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith('```') || !trimmed.endsWith('```') || trimmed.length < 6) return trimmed;
  const firstLine = trimmed.indexOf('\n');
  const label = firstLine < 0 ? '' : trimmed.slice(3, firstLine).trim();
  if (firstLine < 0 || /[^\w-]/.test(label)) return trimmed;
  return trimmed.slice(firstLine + 1, -3).trim();
}

/** The parser's own error quotes the text. */
function notJson(json: string): string {
  return json === '' ? 'is empty, not a JSON object' : 'is not valid JSON';
}

function problemsOf(errors: readonly ErrorObject[] | null | undefined): Problem[] {
  return (errors ?? []).slice(0, MAX_PROBLEMS).map((error) => ({
    path: error.instancePath,
    rule: error.keyword,
    message: describe(error),
  }));
}

/** Names what the message of the library leaves out. */
function describe({ keyword, message = 'does not fit', params }: ErrorObject): string {
  const errorParams = params as Readonly<Record<string, unknown>>;
  const name = errorParams['additionalProperty'] ?? errorParams['unevaluatedProperty'];
  if (typeof name === 'string') return `${message}: ${JSON.stringify(name.slice(0, 100))}`;
  if (keyword === 'enum') return `${message}: ${shortened(errorParams['allowedValues'])}`;
  if (keyword === 'const') return `${message}: ${shortened(errorParams['allowedValue'])}`;
  return message;
}

function shortened(value: unknown): string {
  return JSON.stringify(value).slice(0, 300);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
