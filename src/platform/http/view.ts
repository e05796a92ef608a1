import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import type { Type } from '@nestjs/common';

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
