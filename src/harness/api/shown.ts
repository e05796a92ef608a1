import 'reflect-metadata';
import type { Type } from '@nestjs/common';

/** Where OpenAPI keeps the names of a view's fields, each behind a colon. */
const FIELDS = 'swagger/apiModelPropertiesArray';

/** What a view is made of: its fields, where a time may be a date. */
type Source<View> = {
  readonly [Field in keyof View]: number extends View[Field] ? View[Field] | Date : View[Field];
};

/** The view with its own fields of the source, and no others; dates are milliseconds since the epoch. */
export function shown<View extends object>(view: Type<View>, source: Source<View>): View {
  const names = Reflect.getMetadata(FIELDS, view.prototype as object) as readonly string[];
  const values = source as Readonly<Record<string, unknown>>;
  const fields = names
    .map((name) => name.slice(1))
    .filter((name) => values[name] !== undefined)
    .map((name) => [name, asShown(values[name])]);
  return Object.fromEntries(fields) as View;
}

function asShown(value: unknown): unknown {
  return value instanceof Date ? value.getTime() : value;
}
