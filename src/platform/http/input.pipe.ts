import 'reflect-metadata';
import { applyDecorators, Injectable, ValidationPipe } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform, Type, ValidationPipeOptions } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { getMetadataStorage, ValidateNested } from 'class-validator';
import type { ValidationError } from 'class-validator';
import { asMessage, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';
import { isAsSent, withSentObjects } from './field.js';

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
  const knownNames = [...names].map((name) => `${path}${name}`);
  const unknown = Object.keys(value)
    .filter((name) => !names.has(name))
    .map((name) => `${path}${name.slice(0, MAX_NAME_CHARS)}`);
  const nested = Object.entries(value).flatMap(([name, part]) => {
    const typeOfPart = names.has(name) ? nestedType(type, name) : undefined;
    return typeOfPart ? unknownFieldsOf(part, typeOfPart, `${path}${name}.`) : [];
  });
  return unknown.length > 0 ? [{ unknown, known: knownNames }, ...nested] : nested;
}

/** Names the unknown fields and those that there are; `problems` are what else is wrong with the request. */
export class UnknownFieldsError extends InvalidInputError {
  constructor(objects: readonly UnknownFields[], problems?: Message) {
    const fields = objects.flatMap(({ unknown }) => unknown).slice(0, MAX_NAMED_FIELDS);
    const messages = [...objects.map(messageOf), ...(problems === undefined ? [] : [problems])];
    super(asMessage(messages.join(', ')), { data: { errorCode: 'UNKNOWN_FIELD', fields } });
  }
}

/** UnknownFieldsError for a body, of a request that has none, with any field. */
export function refuseFields(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  const unknown = Object.keys(body).map((name) => name.slice(0, MAX_NAME_CHARS));
  if (unknown.length > 0) throw new UnknownFieldsError([{ unknown, known: [] }]);
}

function messageOf({ unknown, known }: UnknownFields): Message {
  const names = unknown.slice(0, MAX_NAMED_FIELDS).join(', ');
  return known.length > 0
    ? msg`${names}: unknown here, so nothing was done. The fields are ${known.join(', ')}. Remove or correct what is unknown`
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
export function rememberValidationRules(): void {
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

/** As deep as schemas of tools are written; a much deeper body would exhaust the stack of what reads it. */
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
  exceptionFactory: (errors) => new InvalidInputError(asMessage(messages(errors).join(', '))),
};

class InputPipe extends ValidationPipe {
  constructor() {
    super(OPTIONS);
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body') checkShape(value);
    // PostgreSQL cannot store it in a text, and no name contains it.
    if (metadata.type === 'param' && typeof value === 'string' && value.includes('\0')) {
      throw new InvalidInputError(msg`The path must not contain the character NUL.`);
    }
    if (isAsSent(metadata.metatype)) return value;
    const sent = metadata.type === 'body' ? withSentObjects(value, metadata.metatype) : value;
    if (hasStrictFields(metadata)) return this.transformStrictly(sent, metadata);
    return super.transform(sent, metadata);
  }

  /** Names the unknown fields together with all other problems. */
  private async transformStrictly(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { metatype } = metadata;
    // Before the validation, which removes some of them from the value.
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
      if (error instanceof InvalidInputError) return error.message;
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

function messages(errors: readonly ValidationError[], path = ''): string[] {
  return errors.flatMap((error) => [
    ...Object.values(error.constraints ?? {}).map((message) => `${path}${message}`),
    ...messages(error.children ?? [], `${path}${error.property}.`),
  ]);
}

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
