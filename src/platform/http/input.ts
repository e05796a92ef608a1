import { applyDecorators, Injectable, ValidationPipe } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform, Type, ValidationPipeOptions } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type as ClassOf } from 'class-transformer';
import type { TransformFnParams } from 'class-transformer';
import {
  Allow,
  ArrayMaxSize,
  getMetadataStorage,
  IsArray,
  IsDefined,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  NotContains,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import type { ValidationError } from 'class-validator';
import 'reflect-metadata';
import { clauses, literal, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';

/** Stands in the message of a rule for the name of its field, which class-validator puts there. */
export const PROPERTY = '$property';

/** A message for class-validator, whose rules have texts: its JSON, which the input pipe reads. */
export function ruleText(message: Message): string {
  return JSON.stringify(message);
}

/**
 * Fields of a request, each declared once: the type for TypeScript, what OpenAPI shows, what is accepted, and how the
 * forms of existing clients (digit strings for numbers, null for "not given") are read. Fields that several inputs have
 * are spread from a constant. A field is also a decorator, for properties of other classes.
 *
 *     export class RoleStatusDto extends Input({
 *       roleId: Id(),
 *       status: OneOf(['0', '1'], { optional: true }),
 *     }) {}
 */
export function Input<Fields extends AnyFields>(fields: Fields): Type<InputOf<Fields>> {
  class Described {}
  for (const [name, describe] of Object.entries(fields)) describe(Described.prototype, name);
  return Described as Type<InputOf<Fields>>;
}

export interface Field<Value, Optional extends boolean = false> extends PropertyDecorator {
  /** Carries the type for the compiler; never set. */
  readonly value?: Value;
  readonly isOptional?: Optional;
}

type AnyFields = Readonly<Record<string, Field<unknown, boolean>>>;
type ValueOf<Declared> = Declared extends Field<infer Value, boolean> ? Value : never;
type OptionalNames<Fields extends AnyFields> = {
  [Name in keyof Fields]: Fields[Name] extends Field<unknown, true> ? Name : never;
}[keyof Fields];
type InputOf<Fields extends AnyFields> = {
  [Name in Exclude<keyof Fields, OptionalNames<Fields>>]: ValueOf<Fields[Name]>;
} & { [Name in OptionalNames<Fields>]?: ValueOf<Fields[Name]> };

/** Makes a field of the value from its options. */
interface Kind<Value, Options extends FieldOptions> {
  (options: Options & { optional: true; clearable: true }): Field<Value | null, true>;
  (options: Options & { optional: true }): Field<Value, true>;
  (options?: Options): Field<Value>;
}

interface FieldOptions {
  /** Absent, null and (for numbers) blank mean "not given". Fields are required unless this is true. */
  readonly optional?: boolean;
  /** Whether an empty text is read as null (Clearable). */
  readonly clearable?: boolean;
  /** The message for a missing required field; by default that it is required, or which values it can have. */
  readonly missing?: Message;
  /** Marks a field of an answer that is always there and null if it has no value. */
  readonly nullable?: boolean;
  readonly description?: string;
  readonly example?: unknown;
}

interface TextOptions extends FieldOptions {
  readonly min?: number;
  readonly max?: number;
  /** The length to which a longer text is cut instead of being refused. */
  readonly cut?: number;
  readonly pattern?: RegExp;
  /** The message when the pattern does not match, e.g. "must be six digits". */
  readonly patternMessage?: Message;
}

interface ListOptions extends TextOptions {
  readonly maxItems?: number;
}

interface IdListOptions extends FieldOptions {
  readonly maxItems?: number;
}

interface NumberOptions extends FieldOptions {
  readonly min?: number;
  readonly max?: number;
}

interface DecimalOptions extends NumberOptions {
  /** The smallest value above 0 that is accepted: the column would store 0 for a smaller one. */
  readonly smallest?: number;
}

/** A string, kept as given. Required text must not be blank; numbers are read as their digits. */
export const Text: Kind<string, TextOptions> = (options: TextOptions = {}) => {
  return field(options, { type: String, minLength: options.min, maxLength: options.max }, [
    Transform(({ value }: { value: unknown }) => cutText(readText(value), options.cut)),
    IsString({ message: ruleText(msg`${PROPERTY} must be text`) }),
    NoNul(),
    ...(options.optional
      ? []
      : [IsNotEmpty({ message: ruleText(msg`${PROPERTY} must not be empty`) }), NotBlank()]),
    ...(options.min === undefined
      ? []
      : [
          MinLength(options.min, {
            message: ruleText(msg`${PROPERTY} must have at least ${options.min} characters`),
          }),
        ]),
    ...(options.max === undefined
      ? []
      : [
          MaxLength(options.max, {
            message: ruleText(msg`${PROPERTY} must have at most ${options.max} characters`),
          }),
        ]),
    ...(options.pattern
      ? [
          Matches(options.pattern, {
            message: ruleText(
              msg`${PROPERTY} ${options.patternMessage ?? msg`has the wrong form`}`,
            ),
          }),
        ]
      : []),
  ]);
};

/** A whole number; a string of digits is read as one. */
export const Whole: Kind<number, NumberOptions> = (options: NumberOptions = {}) => {
  const min = options.min ?? Number.MIN_SAFE_INTEGER;
  const max = options.max ?? Number.MAX_SAFE_INTEGER;
  return field(options, { type: 'integer', minimum: options.min, maximum: options.max }, [
    Transform(({ value }: { value: unknown }) => readNumber(value)),
    IsInt({ message: ruleText(msg`${PROPERTY} must be a whole number`) }),
    Min(min, { message: ruleText(msg`${PROPERTY} must be at least ${min}`) }),
    Max(max, { message: ruleText(msg`${PROPERTY} must be at most ${max}`) }),
  ]);
};

/** A number, with fractions. */
export const Decimal: Kind<number, DecimalOptions> = (options: DecimalOptions = {}) => {
  const { smallest } = options;
  const min = options.min ?? -Number.MAX_VALUE;
  const max = options.max ?? Number.MAX_VALUE;
  return field(options, { type: 'number', minimum: options.min, maximum: options.max }, [
    Transform(({ value }: { value: unknown }) => readNumber(value)),
    IsNumber(
      { allowNaN: false, allowInfinity: false },
      { message: ruleText(msg`${PROPERTY} must be a number`) },
    ),
    Min(min, { message: ruleText(msg`${PROPERTY} must be at least ${min}`) }),
    Max(max, { message: ruleText(msg`${PROPERTY} must be at most ${max}`) }),
    ...(smallest === undefined ? [] : [NotBelow(smallest)]),
  ]);
};

function NotBelow(smallest: number): PropertyDecorator {
  const validate = (value: unknown): boolean => value === 0 || Math.abs(Number(value)) >= smallest;
  return ValidateBy(
    { name: 'notBelow', validator: { validate } },
    { message: ruleText(msg`${PROPERTY} must be 0 or at least ${smallest}`) },
  );
}

/** The id of a record: a whole number above 0. */
export const Id: Kind<number, FieldOptions> = (options: FieldOptions = {}): PropertyDecorator =>
  Whole({ example: 1, ...options, min: 1 });

/** The revision of the record that a change was made from (recordRevision); the change is refused if it has another one now. */
export const BasedOnRevision = (): Field<number, true> =>
  Whole({
    optional: true,
    min: 1,
    description:
      'The revision that the change was made from: 409 with data {errorCode: REVISION_CONFLICT, revision, current} if the record has another one now. Default: not compared',
  });

/** One of the given texts; a number is read as its digits. */
export function OneOf<Value extends string>(
  values: readonly Value[],
  options: FieldOptions & { optional: true },
): Field<Value, true>;
export function OneOf<Value extends string>(
  values: readonly Value[],
  options?: FieldOptions,
): Field<Value>;
export function OneOf(values: readonly string[], options: FieldOptions = {}): PropertyDecorator {
  const message = msg`${PROPERTY} must be one of ${values.join(', ')}`;
  return field({ missing: message, ...options }, { enum: [...values] }, [
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'number' ? String(value) : (value ?? undefined),
    ),
    IsIn([...values], { message: ruleText(message) }),
  ]);
}

/**
 * 0 enabled, 1 disabled; '0' and '1' are read as such. True and false are refused: 1 means disabled here, and a client
 * that sends true means enabled.
 */
export const Status: Kind<number, FieldOptions> = (options: FieldOptions = {}) => {
  return field(options, { type: 'integer', enum: [0, 1] }, [
    Transform(({ value }: { value: unknown }) => readNumber(value)),
    IsIn([0, 1], { message: ruleText(msg`${PROPERTY} must be 0 (enabled) or 1 (disabled)`) }),
  ]);
};

/** 0 or 1 as a number, where 1 means yes; '0', '1', true and false are read as such. */
export const ZeroOrOne: Kind<number, FieldOptions> = (options: FieldOptions = {}) => {
  return field(options, { type: 'integer', enum: [0, 1] }, [
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'boolean' ? Number(value) : readNumber(value),
    ),
    IsIn([0, 1], { message: ruleText(msg`${PROPERTY} must be 0 or 1`) }),
  ]);
};

/** True or false; 'true', 'false', 0 and 1 are read as such. */
export const Flag: Kind<boolean, FieldOptions> = (options: FieldOptions = {}) => {
  return field(options, { type: 'boolean' }, [
    Transform(({ value }: { value: unknown }) => readBoolean(value)),
    IsIn([true, false], { message: ruleText(msg`${PROPERTY} must be true or false`) }),
  ]);
};

const ANY_OBJECTS = Symbol('fields with objects of any fields');

/** Carries an object through the validation, which removes fields with the names that every object has: constructor, prototype. */
class SentObject {
  constructor(readonly carried: () => object) {}
}

/** A body whose objects of any fields get through the validation as they were sent. */
function withSentObjects(body: unknown, metatype: Type<unknown> | undefined): unknown {
  const names = metatype && (Reflect.getMetadata(ANY_OBJECTS, metatype) as string[] | undefined);
  if (!names || typeof body !== 'object' || body === null) return body;
  const objectEntries = Object.entries(body).filter(
    ([name, value]) => names.includes(name) && typeof value === 'object' && value !== null,
  ) as [string, object][];
  const wrappedEntries = objectEntries.map(
    ([name, value]) => [name, new SentObject(() => value)] as const,
  );
  return { ...body, ...Object.fromEntries(wrappedEntries) };
}

/** Objects and lists in the field get through the validation as they were sent. */
function carriedObjects(): PropertyDecorator {
  return (target, name) => {
    const { constructor } = target;
    const others = (Reflect.getMetadata(ANY_OBJECTS, constructor) ?? []) as (string | symbol)[];
    Reflect.defineMetadata(ANY_OBJECTS, [...others, name], constructor);
  };
}

/** An object of any fields, exactly as it was sent. What it holds is checked by the class that reads it. */
export const AnyObject: Kind<Readonly<Record<string, unknown>>, FieldOptions> = (
  options: FieldOptions = {},
) => {
  return applyDecorators(
    carriedObjects(),
    field(options, { type: 'object', additionalProperties: true }, [
      Transform(({ obj, key }: TransformFnParams): unknown => {
        const value = (obj as Readonly<Record<string, unknown>>)[key];
        return value instanceof SentObject ? value.carried() : (value ?? undefined);
      }),
      IsObject({ message: ruleText(msg`${PROPERTY} must be an object`) }),
    ]),
  );
};

const AS_SENT = Symbol('as sent');

/**
 * Marks the body of a route whose reader checks it: the input pipe checks its size and depth, and hands it on as it was
 * sent. The fields, each `Given`, are what OpenAPI shows.
 */
export function AsSent(): ClassDecorator {
  return (type) => Reflect.defineMetadata(AS_SENT, true, type);
}

export function isAsSent(metatype: Type<unknown> | undefined): boolean {
  return metatype !== undefined && Reflect.getMetadata(AS_SENT, metatype) === true;
}

/**
 * Any JSON, exactly as it was sent. The class that reads it checks what it holds, and whether it is there; `schema` is what
 * OpenAPI shows.
 */
export function Given(
  schema: Readonly<Record<string, unknown>>,
  options: FieldOptions = {},
): Field<unknown, true> {
  return applyDecorators(
    carriedObjects(),
    field({ ...options, optional: true }, schema, [
      Transform(({ obj, key }: TransformFnParams): unknown => {
        const value = (obj as Readonly<Record<string, unknown>>)[key];
        return value instanceof SentObject ? value.carried() : value;
      }),
      Allow(),
    ]),
  );
}

/** A list of texts; a comma list and a single text are read as one. */
export const Texts: Kind<string[], ListOptions> = (options: ListOptions = {}) => {
  return field(options, { type: [String] }, [
    Transform(({ value }: { value: unknown }) => readList(value)),
    IsArray({ message: ruleText(msg`${PROPERTY} must be a list`) }),
    ArrayMaxSize(options.maxItems ?? 1_000, {
      message: ruleText(msg`${PROPERTY} has too many entries`),
    }),
    IsString({ each: true, message: ruleText(msg`each entry of ${PROPERTY} must be text`) }),
    NoNul(),
    MaxLength(options.max ?? 10_000, {
      each: true,
      message: ruleText(msg`an entry of ${PROPERTY} is too long`),
    }),
  ]);
};

/** A list of record ids; a comma list, digit strings and a single id are read as one. */
export const Ids: Kind<number[], IdListOptions> = (options: IdListOptions = {}) => {
  const { maxItems = 1_000 } = options;
  return field(options, { type: 'array', items: { type: 'integer' }, maxItems }, [
    Transform(({ value }: { value: unknown }) => {
      const list = readList(value);
      return Array.isArray(list) ? list.map(readNumber) : list;
    }),
    IsArray({ message: ruleText(msg`${PROPERTY} must be a list of ids`) }),
    ArrayMaxSize(maxItems, {
      message: ruleText(msg`${PROPERTY} has more than ${maxItems} entries`),
    }),
    IsInt({ each: true, message: ruleText(msg`each entry of ${PROPERTY} must be an id`) }),
    Min(1, { each: true, message: ruleText(msg`each entry of ${PROPERTY} must be an id`) }),
    Max(Number.MAX_SAFE_INTEGER, {
      each: true,
      message: ruleText(msg`each entry of ${PROPERTY} must be an id`),
    }),
  ]);
};

/**
 * An empty text arrives as null, which empties the field; absent and null leave it as it is. It stands below the
 * field's other decorator, because class-transformer applies the lowest last.
 */
function Clearable(): PropertyDecorator {
  return Transform(({ value, obj, key }: TransformFnParams): unknown => {
    const rawValue: unknown = (obj as Record<string, unknown>)[key];
    return rawValue === '' ? null : value;
  });
}

/** The values without those that are undefined. */
export function defined<Values extends object>(values: Values): Partial<Values> {
  const presentEntries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(presentEntries) as Partial<Values>;
}

function field(
  options: FieldOptions,
  schema: Partial<
    Record<keyof ApiPropertyOptions | 'minLength' | 'maxLength' | 'maxItems', unknown>
  >,
  rules: readonly PropertyDecorator[],
): PropertyDecorator {
  const { optional = false, clearable, nullable, description, example } = options;
  const { missing = msg`${PROPERTY} is required` } = options;
  const documented = defined({
    ...(clearable ? orEmptyText(schema) : schema),
    nullable,
    description,
    example,
    required: !optional,
  }) as ApiPropertyOptions;
  return applyDecorators(
    ...(clearable ? [Clearable()] : []),
    ...(optional ? [] : [IsDefined({ message: ruleText(missing) })]),
    ApiProperty(documented),
    ...(optional ? [IsOptional()] : []),
    ...rules,
  );
}

/** The schema of a field that an empty text clears. */
function orEmptyText(schema: Readonly<Record<string, unknown>>): object {
  if (schema['type'] === String) return schema;
  return { type: Object, oneOf: [defined(schema), { type: 'string', enum: [''] }] };
}

/** PostgreSQL's text type accepts every character but this one. */
function NoNul(): PropertyDecorator {
  return NotContains('\u0000', {
    each: true,
    message: ruleText(msg`${PROPERTY} must not contain the NUL character`),
  });
}

function NotBlank(): PropertyDecorator {
  return Matches(VISIBLE, { message: ruleText(msg`${PROPERTY} must not be empty`) });
}

/** A lone surrogate, such as half of a cut emoji, cannot be stored as text. */
function readText(value: unknown): unknown {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value.toWellFormed() : (value ?? undefined);
}

function cutText(value: unknown, length = Infinity): unknown {
  if (typeof value !== 'string' || value.length <= length) return value;
  return value.slice(0, length).toWellFormed();
}

function readNumber(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') return value;
  const trimmed = value.trim();
  if (trimmed === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : value;
}

function readBoolean(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return undefined;
  if (value === 'true' || value === '1' || value === 1) return true;
  if (value === 'false' || value === '0' || value === 0) return false;
  return value;
}

function readList(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'string') return value;
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** A character that can be seen: no white space, no control character, and none that is shown as nothing. */
export const VISIBLE = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Whether a text has nothing to see: it is empty, white space, or made of characters such as the zero-width space. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}

const STRICT = Symbol('strict fields');
const NESTED = Symbol('nested fields');

/** Limit of unknown fields that a refusal names. */
const MAX_NAMED_FIELDS = 20;
/** A longer name of an unknown field is cut. */
const MAX_NAME_CHARS = 100;

/**
 * Marks the body of a route: a field that it does not have is refused by its name, also in the objects within it. For
 * requests whose fields limit something: a client must not believe in a limit that nothing reads.
 */
export function StrictFields(): ClassDecorator {
  return (type) => Reflect.defineMetadata(STRICT, true, type);
}

function hasStrictFields({ metatype }: Pick<ArgumentMetadata, 'metatype'>): boolean {
  return metatype !== undefined && Reflect.getMetadata(STRICT, metatype) === true;
}

/** A field that holds an object with fields of its own or, with `each`, a list of such objects. */
export function Nested(
  type: () => Type<object>,
  { each = false, message }: { readonly each?: boolean; readonly message: Message },
): PropertyDecorator {
  return applyDecorators(
    ValidateNested({ each, message: ruleText(message) }),
    ClassOf(type),
    (target: object, name: string | symbol): void => {
      Reflect.defineMetadata(NESTED, type, target, name);
    },
  );
}

/** The fields of one object of a request that its class does not have. */
interface UnknownFields {
  /** Names with the path to the object, as in budget.maxTokens. */
  readonly unknown: readonly string[];
  /** The names that the object can have, with the same path. */
  readonly allowed: readonly string[];
}

/**
 * Looks for unknown fields in a body as it was parsed. What class-transformer makes of it lacks some of them: `__proto__`,
 * `constructor` and the names of methods that every object has.
 */
function unknownFieldsOf(value: unknown, type: Type<object>, path = ''): UnknownFields[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown, at) => unknownFieldsOf(entry, type, `${path}${at}.`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const names = new Set(fieldsOf(type));
  const allowedNames = [...names].map((name) => `${path}${name}`);
  const unknown = Object.keys(value)
    .filter((name) => !names.has(name))
    .map((name) => `${path}${name.slice(0, MAX_NAME_CHARS)}`);
  const nested = Object.entries(value).flatMap(([name, part]) => {
    const typeOfPart = names.has(name) ? nestedType(type, name) : undefined;
    return typeOfPart ? unknownFieldsOf(part, typeOfPart, `${path}${name}.`) : [];
  });
  return unknown.length > 0 ? [{ unknown, allowed: allowedNames }, ...nested] : nested;
}

/** Names the unknown fields and those that there are; `problems` are what else is wrong with the request. */
class UnknownFieldsError extends InvalidInputError {
  constructor(objects: readonly UnknownFields[], problems?: Message) {
    const fields = objects.flatMap(({ unknown }) => unknown).slice(0, MAX_NAMED_FIELDS);
    const messages = [...objects.map(messageOf), ...(problems === undefined ? [] : [problems])];
    super(clauses(messages), { data: { errorCode: 'UNKNOWN_FIELD', fields } });
  }
}

/** Throws UnknownFieldsError for a body with any field, for a request that has no body. */
export function refuseFields(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  const unknown = Object.keys(body).map((name) => name.slice(0, MAX_NAME_CHARS));
  if (unknown.length > 0) throw new UnknownFieldsError([{ unknown, allowed: [] }]);
}

function messageOf({ unknown, allowed }: UnknownFields): Message {
  const names = unknown.slice(0, MAX_NAMED_FIELDS).join(', ');
  return allowed.length > 0
    ? msg`${names}: unknown here, so nothing was done. The fields are ${allowed.join(', ')}. Remove or correct what is unknown`
    : msg`${names}: unknown here, so nothing was done. This request has no fields. Send it without a body`;
}

function fieldsOf(type: Type<object>): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  return rules.map(({ propertyName }) => propertyName);
}

function nestedType(type: Type<object>, name: string): Type<object> | undefined {
  const typeOf = Reflect.getMetadata(NESTED, type.prototype as object, name) as
    | (() => Type<object>)
    | undefined;
  return typeOf?.();
}

type Storage = ReturnType<typeof getMetadataStorage>;
type Read = Storage['getTargetValidationMetadatas'];

let isRemembering = false;

/**
 * Makes class-validator remember the rules of a class. By itself it goes over those of every class of the process for each
 * value that it checks. Schemas and groups, which Plinth does not use, are looked up as before.
 */
function rememberValidationRules(): void {
  if (isRemembering) return;
  isRemembering = true;
  const storage = getMetadataStorage();
  const read = storage.getTargetValidationMetadatas.bind(storage);
  const cache = new WeakMap<Parameters<Read>[0], ReturnType<Read>>();
  storage.getTargetValidationMetadatas = (target, ...how) => {
    const [schema, always, strictGroups, groups] = how;
    if (schema || always || strictGroups || groups?.length) return read(target, ...how);
    const rules = cache.get(target) ?? read(target, ...how);
    cache.set(target, rules);
    return rules;
  };
}

/** Limit of nesting, which suffices for schemas of tools; a much deeper body would exhaust the stack of its reader. */
const MAX_DEPTH = 64;
/** The limit of fields per object; the time to read one grows with the square of its fields. */
const MAX_FIELDS = 1_000;
/** The limit of values of the whole body, entries of lists included. */
const MAX_VALUES = 100_000;

const OPTIONS: ValidationPipeOptions = {
  whitelist: true,
  transform: true,
  transformOptions: { exposeUnsetFields: false },
  stopAtFirstError: true,
  exceptionFactory: (errors) => new InvalidInputError(clauses(problemsOf(errors))),
};

class InputPipe extends ValidationPipe {
  constructor() {
    super(OPTIONS);
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body') checkShape(value);
    // PostgreSQL cannot store NUL in a text, and no name contains it.
    if (metadata.type === 'param' && typeof value === 'string' && value.includes('\0')) {
      throw new InvalidInputError(msg`The path must not contain the character NUL.`);
    }
    if (isAsSent(metadata.metatype)) return value;
    const input = metadata.type === 'body' ? withSentObjects(value, metadata.metatype) : value;
    if (hasStrictFields(metadata)) return this.transformStrictly(input, metadata);
    return super.transform(input, metadata);
  }

  /** Names the unknown fields together with all other problems. */
  private async transformStrictly(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { metatype } = metadata;
    // Unknown fields are collected before the validation, which removes some of them from the value.
    const unknown = metatype ? unknownFieldsOf(value, metatype as Type<object>) : [];
    if (unknown.length === 0) return super.transform(value, metadata);
    const problem = await this.problemOf(value, metadata);
    throw new UnknownFieldsError(unknown, problem);
  }

  private async problemOf(
    value: unknown,
    metadata: ArgumentMetadata,
  ): Promise<Message | undefined> {
    try {
      await super.transform(value, metadata);
      return undefined;
    } catch (error) {
      if (error instanceof InvalidInputError) return error.userMessage;
      throw error;
    }
  }

  /** Numbers in a path are read by IdPipe from what was sent: Nest would already hand it NaN for "abc". */
  protected override transformPrimitive(value: unknown, metadata: ArgumentMetadata): unknown {
    return metadata.metatype === Number ? value : super.transformPrimitive(value, metadata);
  }
}

/**
 * Checks bodies and queries against their DTO; all problems are named at once. Unknown fields are dropped, or refused where
 * the DTO says so (StrictFields).
 */
export function inputPipe(): ValidationPipe {
  rememberValidationRules();
  return new InputPipe();
}

/** Throws InvalidInputError for a body that is nested too deep or holds too much. Iterates level by level, because a recursion could exhaust the stack. */
export function checkShape(body: unknown): void {
  let level = [body].filter(isContainer);
  let values = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) {
      throw new InvalidInputError(
        msg`The request body is nested more than ${MAX_DEPTH} levels deep. Send it in a flatter form.`,
      );
    }
    const parts = level.flatMap(partsOf);
    values += parts.length;
    if (values > MAX_VALUES)
      throw new InvalidInputError(msg`The request body holds more than ${MAX_VALUES} values.`);
    level = parts.filter(isContainer);
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function partsOf(value: object): unknown[] {
  const parts = Object.values(value) as unknown[];
  if (!Array.isArray(value) && parts.length > MAX_FIELDS) {
    throw new InvalidInputError(
      msg`An object of the request body has more than ${MAX_FIELDS} fields.`,
    );
  }
  return parts;
}

function problemsOf(errors: readonly ValidationError[], path = ''): Message[] {
  return errors.flatMap((error) => [
    ...Object.values(error.constraints ?? {}).map((text) => {
      const message = ruleMessage(text);
      return path === '' ? message : msg`${path}${message}`;
    }),
    ...problemsOf(error.children ?? [], `${path}${error.property}.`),
  ]);
}

/** The message of a rule (`ruleText`), or the text of Nest and class-validator for a value that is no object. */
function ruleMessage(text: string): Message {
  return text.startsWith('{') ? (JSON.parse(text) as Message) : literal(text);
}

/** A UUID in any case. */
export const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Reads one record id from a path. */
@Injectable()
export class IdPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    return readId(value);
  }
}

/** Reads a comma list of record ids from a path, without duplicates. */
@Injectable()
export class IdsPipe implements PipeTransform<string, number[]> {
  transform(value: string): number[] {
    return [...new Set(value.split(',').map((part) => readId(part)))];
  }
}

function readId(value: string): number {
  const id = Number(value);
  if (!/^\d{1,16}$/.test(value) || !Number.isSafeInteger(id)) {
    throw new InvalidInputError(
      msg`"${value.slice(0, 40)}" is not an id. An id is a whole number.`,
    );
  }
  return id;
}

/** Schemes of addresses that can run in a page or show a file of its reader. */
const REFUSED = ['javascript', 'vbscript', 'data', 'blob', 'file'];

/** Browsers ignore these within a scheme and before it. */
const GAP = String.raw`[\s\p{Cc}]*`;

const refusedScheme = REFUSED.map((scheme) => [...scheme, ':'].join(GAP)).join('|');

/**
 * The rule of a text that pages show as a picture or a link: an address, the id of a file, the name of an icon, or a raster
 * image as a data URI; nothing that could run in the page, such as javascript:, data:text/html or SVG.
 */
export const ICON = {
  pattern: new RegExp(
    String.raw`^(?:\s*data:image/(?:png|jpeg|gif|webp)[;,]|(?!${GAP}(?:${refusedScheme})))`,
    'iu',
  ),
  patternMessage: msg`must not be a javascript:, vbscript:, data:, blob: or file: address; a data URI of PNG, JPEG, GIF or WebP is allowed`,
};
