import { ValidationPipe } from '@nestjs/common';
import type { ArgumentMetadata, Type, ValidationPipeOptions } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { asMessage, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';
import { isAsSent, withSentObjects } from './field.js';
import { hasStrictFields, UnknownFieldsError, unknownFieldsOf } from './strict-fields.js';
import { rememberValidationRules } from './validation-rules.js';

/** As deep as schemas of tools are written; a much deeper body would exhaust the stack of what reads it. */
const MAX_DEPTH = 64;
/** The limit of fields per object; the time to read one grows with the square of its fields. */
const FIELDS = 1_000;
/** The limit of values of the whole body, entries of lists included. */
const VALUES = 100_000;

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
    if (values > VALUES)
      throw new InvalidInputError(msg`The request body holds more than ${VALUES} values.`);
    level = parts.filter(isContainer);
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function partsOf(value: object): unknown[] {
  const parts = Object.values(value) as unknown[];
  if (!Array.isArray(value) && parts.length > FIELDS) {
    throw new InvalidInputError(msg`An object of the request body has more than ${FIELDS} fields.`);
  }
  return parts;
}

function messages(errors: readonly ValidationError[], path = ''): string[] {
  return errors.flatMap((error) => [
    ...Object.values(error.constraints ?? {}).map((message) => `${path}${message}`),
    ...messages(error.children ?? [], `${path}${error.property}.`),
  ]);
}
