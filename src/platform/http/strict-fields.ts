import 'reflect-metadata';
import type { ArgumentMetadata } from '@nestjs/common';

const STRICT = Symbol('strict fields');

/**
 * Marks the body of a route: a field that it does not have is refused by its name, also in the objects within it. For
 * requests whose fields limit something: a client must not believe in a limit that nothing reads.
 */
export function StrictFields(): ClassDecorator {
  return (type) => Reflect.defineMetadata(STRICT, true, type);
}

export function hasStrictFields({ metatype }: Pick<ArgumentMetadata, 'metatype'>): boolean {
  return metatype !== undefined && Reflect.getMetadata(STRICT, metatype) === true;
}
