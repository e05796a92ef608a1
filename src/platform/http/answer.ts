import { setImmediate } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { Injectable, SetMetadata, StreamableFile } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor, Type } from '@nestjs/common';
import type { Response } from 'express';
import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { english, msg, textFor } from '../message/index.js';
import type { Message } from '../message/index.js';
import { setEnvelopeCode, UnauthenticatedError } from '../error/index.js';
import type { Failure } from '../error/index.js';
import { localized } from './request.js';

/** One page of a list. Answered as `{code, msg, total, rows}`, without a `data` key. */
export class Page<Row> {
  constructor(
    readonly rows: readonly Row[],
    readonly total: number,
  ) {}

  map<Other>(change: (row: Row) => Other): Page<Other> {
    return new Page(this.rows.map(change), this.total);
  }
}

/** Data with its own message, such as a warning that the client shows. */
export class Answer<Data> {
  constructor(
    readonly data: Data,
    readonly msg: Message,
    /** Top-level fields beside `data`, for routes that existing clients read in two forms (docs/WIRE.md). */
    readonly beside: Readonly<Record<string, unknown>> = {},
  ) {}
}

export const OK_MESSAGE = msg`Done.`;

interface Envelope extends Readonly<Record<string, unknown>> {
  readonly code: number;
  readonly msg: Message;
}

export function envelope(result: unknown): Envelope {
  if (result instanceof Page) {
    const { total, rows } = result;
    return { code: 200, msg: OK_MESSAGE, total, rows };
  }
  if (result instanceof Answer) {
    const { msg, beside } = result;
    const data: unknown = result.data;
    return { code: 200, msg, data: data ?? null, ...beside };
  }
  return { code: 200, msg: OK_MESSAGE, data: result ?? null };
}

/** Characters of one part, whose serialization takes about a millisecond. */
const PART_CHARS = 256 * 1_024;

/** The JSON text of the envelope of a page, in parts: rows can be large, and a thousand of them hold the event loop. */
export function* pageText(page: Page<unknown>, msg = english(OK_MESSAGE)): Generator<string, void> {
  const { rows: _, ...head } = envelope(page);
  // The rows take the place of the closing brace.
  let part = `${JSON.stringify({ ...head, msg }).slice(0, -1)},"rows":[`;
  for (const [index, row] of page.rows.entries()) {
    part += index === 0 ? JSON.stringify(row) : `,${JSON.stringify(row)}`;
    if (part.length < PART_CHARS) continue;
    yield part;
    part = '';
  }
  yield `${part}]}`;
}

/** Lets other work run after each part. */
export async function* withPauses(
  firstParts: readonly string[],
  remainingParts: Iterable<string>,
): AsyncGenerator<Buffer, void> {
  for (const parts of [firstParts, remainingParts]) {
    for (const part of parts) {
      yield Buffer.from(part);
      await setImmediate();
    }
  }
}

const NO_ENVELOPE = 'http:no-envelope';

/** Marks a route that writes its own answer: a stream, a file, or a format that another tool reads. */
export const NoEnvelope = (): MethodDecorator & ClassDecorator => SetMetadata(NO_ENVELOPE, true);

/** Whether the method or its controller is marked `NoEnvelope`. */
export function hasNoEnvelope(controller: Type, handler: object): boolean {
  return [controller, handler].some((target) => Reflect.hasMetadata(NO_ENVELOPE, target));
}

/** Wraps the result of a controller in the envelope and answers HTTP 200, also for POST. */
@Injectable()
export class EnvelopeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (hasNoEnvelope(context.getClass(), context.getHandler())) return next.handle();
    const response = context.switchToHttp().getResponse<Response>().status(200);
    return next.handle().pipe(
      map((result) => {
        if (result instanceof Page) return pageAnswer(result, response);
        const answer = envelope(result);
        setEnvelopeCode(response, answer.code);
        return { ...answer, msg: textFor(response, answer.msg) };
      }),
    );
  }
}

/** Serializes a page: at once when it is small, otherwise part by part while the client reads. */
function pageAnswer(page: Page<unknown>, response: Response): string | StreamableFile {
  setEnvelopeCode(response, 200);
  response.type('json');
  const parts = pageText(page, textFor(response, OK_MESSAGE));
  const firstParts = [parts.next(), parts.next()].flatMap(({ value }) => value ?? []);
  if (firstParts.length === 1) return firstParts.join('');
  return new StreamableFile(Readable.from(withPauses(firstParts, parts)));
}

/**
 * An interceptor that works around a handler and leaves its result alone. A direct route runs `around` without the
 * observables of the router.
 */
export abstract class AroundInterceptor implements NestInterceptor {
  /** Calls `work` once, or throws without it. */
  abstract around<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T>;

  intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    return this.around(context, () => Promise.resolve(next.handle()));
  }
}

const NO_KEY = msg`No valid API key was sent, or the sign-in has ended. Send a key of Plinth as Authorization: Bearer sk-plinth-… or as x-api-key, api-key or x-goog-api-key, or sign in again.`;

/** The message of a failure for a program, which sends a key instead of signing in. */
export function messageForProgram({ message, error }: Failure): string {
  // The errors of API keys say more.
  return error?.constructor === UnauthenticatedError ? localized(NO_KEY) : message;
}

/** Times on the wire are `yyyy-MM-dd HH:mm:ss` in the process' time zone, which the configuration sets. */
export function wireTime(date: Date): string;
export function wireTime(date: Date | null | undefined): string | null;
export function wireTime(date: Date | null | undefined): string | null {
  if (!date) return null;
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/**
 * Fields of an answer, each declared once: the type for TypeScript and the schema for OpenAPI. The order of the fields is
 * that of the schema.
 *
 *     export class GrantView extends View({
 *       grantId: uuid(),
 *       grantedBy: nullable(integer({ description: 'Id of the user' })),
 *     }) {}
 */
export function View<Fields extends AnyFields>(fields: Fields): ViewClass<ViewOf<Fields>> {
  const names = Object.keys(fields);
  class Described {
    static of(source: object, beside: object = {}): object {
      const values: Readonly<Record<string, unknown>> = { ...source, ...beside };
      const present = names.filter((name) => values[name] !== undefined);
      return Object.fromEntries(
        present.map((name) => [name, onWire(values[name], fields[name]?.schema.type)]),
      );
    }
  }
  for (const [name, { schema }] of Object.entries(fields)) {
    ApiProperty(schema)(Described.prototype, name);
  }
  return Described as ViewClass<ViewOf<Fields>>;
}

interface ViewClass<Shown extends object> {
  new (): Shown;
  /**
   * The view of a record: its fields of the same names, and those beside it, which take precedence. A date becomes
   * milliseconds since the epoch in a numeric field, and a text elsewhere. What is undefined or not a field of the view is
   * left out. The compiler asks for each field that the record lacks.
   */
  of<const Source extends object>(
    source: Source,
    ...beside: object extends Lacking<Shown, Source>
      ? [beside?: Partial<Shown>]
      : [beside: Lacking<Shown, Source> & Partial<Shown>]
  ): Shown;
}

/** The fields of a view that its record lacks or has with another type. */
type Lacking<Shown, Source> = {
  [
    Name in keyof Shown as Name extends keyof Source
      ? OnWire<Source[Name], Shown[Name]> extends Shown[Name]
        ? never
        : Name
      : Name
  ]: Shown[Name];
};
type OnWire<Value, Field> = Value extends Date ? (number extends Field ? number : string) : Value;

function onWire(value: unknown, type: unknown): unknown {
  if (!(value instanceof Date)) return value;
  return type === 'integer' || type === Number ? value.getTime() : wireTime(value);
}

interface ViewField<Value, Optional extends boolean = false> {
  readonly schema: ApiPropertyOptions;
  readonly isOptional: Optional;
  /** Carries the type for the compiler; never set. */
  readonly value?: Value;
}

type AnyFields = Readonly<Record<string, ViewField<unknown, boolean>>>;
type ValueOf<Field> = Field extends ViewField<infer Value, boolean> ? Value : never;
type ViewOf<Fields extends AnyFields> = {
  [Name in keyof Fields as Fields[Name]['isOptional'] extends true ? never : Name]: ValueOf<
    Fields[Name]
  >;
} & {
  [Name in keyof Fields as Fields[Name]['isOptional'] extends true ? Name : never]?: ValueOf<
    Fields[Name]
  >;
};

interface Documentation {
  readonly description?: string;
  readonly example?: unknown;
}

/** Any schema, for a value that none of the functions below describes. */
export function schema<Value>(options: ApiPropertyOptions): ViewField<Value> {
  return { schema: options, isOptional: false };
}

export function text(about: Documentation = {}): ViewField<string> {
  return schema({ type: String, ...about });
}

/** A time as `wireTime` writes it. */
export function time(about: Documentation = {}): ViewField<string> {
  return text({ example: '2026-01-31 18:30:00', ...about });
}

export function uuid(about: Documentation = {}): ViewField<string> {
  return schema({ type: String, format: 'uuid', ...about });
}

export function integer(about: Documentation = {}): ViewField<number> {
  return schema({ type: 'integer', ...about });
}

/** Milliseconds since the epoch. */
export function timestamp(about: Documentation = {}): ViewField<number> {
  return integer({ example: 1_769_884_200_000, ...about });
}

export function decimal(about: Documentation = {}): ViewField<number> {
  return schema({ type: Number, ...about });
}

/** A whole number that its schema does not call one. */
export function number(about: Documentation = {}): ViewField<number> {
  return decimal(about);
}

export function flag(about: Documentation = {}): ViewField<boolean> {
  return schema({ type: Boolean, ...about });
}

export function oneOf<Value extends string = string>(
  values: readonly string[],
  about: Documentation = {},
): ViewField<Value> {
  return schema({ enum: [...values], ...about });
}

export function someOf(
  values: readonly string[],
  about: Documentation = {},
): ViewField<readonly string[]> {
  return schema({ enum: [...values], isArray: true, ...about });
}

export function texts(about: Documentation = {}): ViewField<readonly string[]> {
  return schema({ type: [String], ...about });
}

export function numbers(about: Documentation = {}): ViewField<readonly number[]> {
  return schema({ type: [Number], ...about });
}

export function integers(about: Documentation = {}): ViewField<readonly number[]> {
  return schema({ type: 'array', items: { type: 'integer' }, ...about });
}

export function object<Value>(view: Type<Value>, about: Documentation = {}): ViewField<Value> {
  return schema({ type: view, ...about });
}

export function list<Value>(
  view: Type<Value>,
  about: Documentation = {},
): ViewField<readonly Value[]> {
  return schema({ type: [view], ...about });
}

export function nullable<Value>(field: ViewField<Value>): ViewField<Value | null> {
  return schema({ ...field.schema, nullable: true });
}

/** Counts the changes of a record. */
export function recordRevision(): ViewField<number> {
  return integer({
    example: 3,
    description:
      'Counts the changes; a save that sends it is refused (409) if the record has changed since',
  });
}

export function optional<Value>(field: ViewField<Value>): ViewField<Value, true> {
  return {
    schema: { ...field.schema, required: false } as ApiPropertyOptions,
    isOptional: true,
  };
}

/** The id of a record. */
export function recordId(about: Documentation = {}): ViewField<number> {
  return schema({ type: 'integer', minimum: 1, example: 1, ...about });
}

export function zeroOrOne(about: Documentation = {}): ViewField<number> {
  return schema({ type: 'integer', enum: [0, 1], ...about });
}
