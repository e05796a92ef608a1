import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import type { Type } from '@nestjs/common';

/**
 * Fields of an answer, each declared once: the type for TypeScript and the schema for OpenAPI. The order of the fields is
 * that of the schema.
 *
 *     export class GrantView extends View({
 *       grantId: uuid(),
 *       grantedBy: nullable(integer({ description: 'Id of the user' })),
 *     }) {}
 */
export function View<Fields extends AnyFields>(fields: Fields): new () => ViewOf<Fields> {
  class Described {}
  for (const [name, { schema }] of Object.entries(fields)) {
    ApiProperty(schema)(Described.prototype, name);
  }
  return Described as new () => ViewOf<Fields>;
}

interface ViewField<Value, Optional extends boolean = false> {
  readonly schema: ApiPropertyOptions;
  readonly isOptional: Optional;
  /** For the compiler alone: never set. */
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

export function optional<Value>(field: ViewField<Value>): ViewField<Value, true> {
  return {
    schema: { ...field.schema, required: false } as ApiPropertyOptions,
    isOptional: true,
  };
}
