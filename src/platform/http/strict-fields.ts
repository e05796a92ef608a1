import 'reflect-metadata';
import { applyDecorators } from '@nestjs/common';
import type { ArgumentMetadata, Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { getMetadataStorage, ValidateNested } from 'class-validator';
import { asMessage, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';

const STRICT = Symbol('strict fields');
const NESTED = Symbol('nested fields');

/** Unknown fields that are named. */
const NAMED = 20;
/** Longest name of an unknown field that is repeated to the client. */
const NAME = 100;

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

/** A field that holds an object with fields of its own or, with `each`, a list of such objects. */
export function Nested(
  type: () => Type<object>,
  options: { readonly each?: boolean; readonly message: string },
): PropertyDecorator {
  return applyDecorators(
    ValidateNested(options),
    ClassOf(type),
    (target: object, name: string | symbol): void => {
      Reflect.defineMetadata(NESTED, type, target, name);
    },
  );
}

/** The fields of one object of a request that its class does not have. */
export interface UnknownFields {
  /** With the path to the object, as in budget.maxTokens. */
  readonly unknown: readonly string[];
  /** Those that the object can have, with the same path. */
  readonly known: readonly string[];
}

/**
 * Looks for unknown fields in a body as it was parsed. What class-transformer makes of it lacks some of them: `__proto__`,
 * `constructor` and the names of methods that every object has.
 */
export function unknownFieldsOf(value: unknown, type: Type<object>, path = ''): UnknownFields[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown, at) => unknownFieldsOf(entry, type, `${path}${at}.`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const names = new Set(fieldsOf(type));
  const known = [...names].map((name) => `${path}${name}`);
  const unknown = Object.keys(value)
    .filter((name) => !names.has(name))
    .map((name) => `${path}${name.slice(0, NAME)}`);
  const nested = Object.entries(value).flatMap(([name, part]) => {
    const typeOfPart = names.has(name) ? nestedType(type, name) : undefined;
    return typeOfPart ? unknownFieldsOf(part, typeOfPart, `${path}${name}.`) : [];
  });
  return unknown.length > 0 ? [{ unknown, known }, ...nested] : nested;
}

/** Names the unknown fields and those that there are; `problems` are what else is wrong with the request. */
export class UnknownFieldsError extends InvalidInputError {
  constructor(found: readonly UnknownFields[], problems?: Message) {
    const fields = found.flatMap(({ unknown }) => unknown).slice(0, NAMED);
    const messages = [...found.map(messageOf), ...(problems === undefined ? [] : [problems])];
    super(asMessage(messages.join(', ')), { data: { errorCode: 'UNKNOWN_FIELD', fields } });
  }
}

/** UnknownFieldsError for a body, of a request that has none, with any field. */
export function refuseFields(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  const unknown = Object.keys(body).map((name) => name.slice(0, NAME));
  if (unknown.length > 0) throw new UnknownFieldsError([{ unknown, known: [] }]);
}

function messageOf({ unknown, known }: UnknownFields): Message {
  const names = unknown.slice(0, NAMED).join(', ');
  return known.length > 0
    ? msg`${names}: unknown here, so nothing was done. The fields are ${known.join(', ')}. Remove or correct what is unknown`
    : msg`${names}: unknown here, so nothing was done. This request has no fields. Send it without a body`;
}

function fieldsOf(type: Type<object>): string[] {
  const found = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  return found.map(({ propertyName }) => propertyName);
}

function nestedType(type: Type<object>, name: string): Type<object> | undefined {
  const found = Reflect.getMetadata(NESTED, type.prototype as object, name) as
    | (() => Type<object>)
    | undefined;
  return found?.();
}
