import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import type { TransformFnParams } from 'class-transformer';
import {
  Allow,
  ArrayMaxSize,
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
} from 'class-validator';
import { msg, phrase } from '../message/index.js';
import type { Message, Phrase } from '../message/index.js';

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
  /** For the compiler alone: never set. */
  readonly value?: Value;
  readonly isOptional?: Optional;
}

type AnyFields = Readonly<Record<string, Field<unknown, boolean>>>;
type ValueOf<Given> = Given extends Field<infer Value, boolean> ? Value : never;
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
  /** As Clearable: an empty text is read as null. */
  readonly clearable?: boolean;
  /** What is said when a required field is missing; by default that it is required, or what it can be one of. */
  readonly missing?: Message;
  /** Of an answer: always there, and null where there is nothing to say. */
  readonly nullable?: boolean;
  readonly description?: string;
  readonly example?: unknown;
}

interface TextOptions extends FieldOptions {
  readonly min?: number;
  readonly max?: number;
  /** A longer text is cut to so many characters in place of being refused. */
  readonly cut?: number;
  readonly pattern?: RegExp;
  /** The message when the pattern does not match, e.g. "must be six digits". */
  readonly patternMessage?: Phrase;
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
  /** The smallest value but 0 that is kept: a column with so many decimals would store 0 for a smaller one. */
  readonly smallest?: number;
}

/** A string, kept as given. Required text must not be blank; numbers are read as their digits. */
export const Text: Kind<string, TextOptions> = (options: TextOptions = {}) => {
  return field(options, { type: String, minLength: options.min, maxLength: options.max }, [
    Transform(({ value }: { value: unknown }) => cutText(readText(value), options.cut)),
    IsString({ message: msg`$property must be text` }),
    NoNul(),
    ...(options.optional
      ? []
      : [IsNotEmpty({ message: msg`$property must not be empty` }), NotBlank()]),
    ...(options.min === undefined
      ? []
      : [
          MinLength(options.min, {
            message: msg`$property must have at least ${options.min} characters`,
          }),
        ]),
    ...(options.max === undefined
      ? []
      : [
          MaxLength(options.max, {
            message: msg`$property must have at most ${options.max} characters`,
          }),
        ]),
    ...(options.pattern
      ? [
          Matches(options.pattern, {
            message: msg`$property ${options.patternMessage ?? phrase`has the wrong form`}`,
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
    IsInt({ message: msg`$property must be a whole number` }),
    Min(min, { message: msg`$property must be at least ${min}` }),
    Max(max, { message: msg`$property must be at most ${max}` }),
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
      { message: msg`$property must be a number` },
    ),
    Min(min, { message: msg`$property must be at least ${min}` }),
    Max(max, { message: msg`$property must be at most ${max}` }),
    ...(smallest === undefined ? [] : [NotBelow(smallest)]),
  ]);
};

function NotBelow(smallest: number): PropertyDecorator {
  const validate = (value: unknown): boolean => value === 0 || Math.abs(Number(value)) >= smallest;
  return ValidateBy(
    { name: 'notBelow', validator: { validate } },
    { message: msg`$property must be 0 or at least ${smallest}` },
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
  const message = msg`$property must be one of ${values.join(', ')}`;
  return field({ missing: message, ...options }, { enum: [...values] }, [
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'number' ? String(value) : (value ?? undefined),
    ),
    IsIn([...values], { message }),
  ]);
}

/**
 * 0 enabled, 1 disabled; '0' and '1' are read as such. True and false are refused: 1 means disabled here, and a client
 * that sends true means enabled.
 */
export const Status: Kind<number, FieldOptions> = (options: FieldOptions = {}) => {
  return field(options, { type: 'integer', enum: [0, 1] }, [
    Transform(({ value }: { value: unknown }) => readNumber(value)),
    IsIn([0, 1], { message: msg`$property must be 0 (enabled) or 1 (disabled)` }),
  ]);
};

/** 0 or 1 as a number, where 1 means yes; '0', '1', true and false are read as such. */
export const ZeroOrOne: Kind<number, FieldOptions> = (options: FieldOptions = {}) => {
  return field(options, { type: 'integer', enum: [0, 1] }, [
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'boolean' ? Number(value) : readNumber(value),
    ),
    IsIn([0, 1], { message: msg`$property must be 0 or 1` }),
  ]);
};

/** True or false; 'true', 'false', 0 and 1 are read as such. */
export const Flag: Kind<boolean, FieldOptions> = (options: FieldOptions = {}) => {
  return field(options, { type: 'boolean' }, [
    Transform(({ value }: { value: unknown }) => readBoolean(value)),
    IsIn([true, false], { message: msg`$property must be true or false` }),
  ]);
};

const ANY_OBJECTS = Symbol('fields with objects of any fields');

/** Carries an object through the validation, which removes fields with the names that every object has: constructor, prototype. */
class SentObject {
  constructor(readonly carried: () => object) {}
}

/** A body whose objects of any fields get through the validation as they were sent. */
export function withSentObjects(body: unknown, metatype: Type<unknown> | undefined): unknown {
  const names = metatype && (Reflect.getMetadata(ANY_OBJECTS, metatype) as string[] | undefined);
  if (!names || typeof body !== 'object' || body === null) return body;
  const sent = Object.entries(body).filter(
    ([name, value]) => names.includes(name) && typeof value === 'object' && value !== null,
  ) as [string, object][];
  const carried = sent.map(([name, value]) => [name, new SentObject(() => value)] as const);
  return { ...body, ...Object.fromEntries(carried) };
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
      IsObject({ message: msg`$property must be an object` }),
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
    IsArray({ message: msg`$property must be a list` }),
    ArrayMaxSize(options.maxItems ?? 1_000, { message: msg`$property has too many entries` }),
    IsString({ each: true, message: msg`each entry of $property must be text` }),
    NoNul(),
    MaxLength(options.max ?? 10_000, {
      each: true,
      message: msg`an entry of $property is too long`,
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
    IsArray({ message: msg`$property must be a list of ids` }),
    ArrayMaxSize(maxItems, { message: msg`$property has more than ${maxItems} entries` }),
    IsInt({ each: true, message: msg`each entry of $property must be an id` }),
    Min(1, { each: true, message: msg`each entry of $property must be an id` }),
    Max(Number.MAX_SAFE_INTEGER, {
      each: true,
      message: msg`each entry of $property must be an id`,
    }),
  ]);
};

/**
 * An empty text arrives as null, which empties the field; absent and null leave it as it is. It stands below the
 * field's other decorator, because class-transformer applies the lowest last.
 */
function Clearable(): PropertyDecorator {
  return Transform(({ value, obj, key }: TransformFnParams): unknown => {
    const sent: unknown = (obj as Record<string, unknown>)[key];
    return sent === '' ? null : value;
  });
}

/** The values that are given: without those that are undefined. */
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
  const { missing = msg`$property is required` } = options;
  const documented = defined({
    ...(clearable ? orEmptyText(schema) : schema),
    nullable,
    description,
    example,
    required: !optional,
  }) as ApiPropertyOptions;
  return applyDecorators(
    ...(clearable ? [Clearable()] : []),
    ...(optional ? [] : [IsDefined({ message: missing })]),
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
    message: msg`$property must not contain the NUL character`,
  });
}

function NotBlank(): PropertyDecorator {
  return Matches(VISIBLE, { message: msg`$property must not be empty` });
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
