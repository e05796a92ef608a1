import { ValidationPipe } from '@nestjs/common';
import type { ArgumentMetadata, ValidationPipeOptions } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { ValidationError } from 'class-validator';
import { InvalidInputError } from '../error/index.js';
import { hasStrictFields } from './strict-fields.js';

/** Far more than any input needs; a much deeper one would exhaust the stack of the validator. */
const DEPTH = 20;
/** The limit of fields per object; the time to read one grows with the square of its fields. */
const FIELDS = 1_000;
/** The limit of values of the whole body, entries of lists included. */
const VALUES = 100_000;

const OPTIONS: ValidationPipeOptions = {
  whitelist: true,
  transform: true,
  transformOptions: { exposeUnsetFields: false },
  stopAtFirstError: true,
  // Says of an unknown field which ones there are.
  validationError: { target: true, value: false },
  exceptionFactory: (errors) => {
    const unknown = unknownFields(errors).slice(0, NAMED);
    const data = unknown.length > 0 ? { errorCode: 'UNKNOWN_FIELD', fields: unknown } : undefined;
    return new InvalidInputError(messages(errors).join(', '), data && { data });
  },
};

class InputPipe extends ValidationPipe {
  /** Refuses unknown fields; absent in the pipe that does so itself. */
  private readonly strict: InputPipe | undefined;

  constructor({ refuseUnknown }: { readonly refuseUnknown: boolean }) {
    super({ ...OPTIONS, forbidNonWhitelisted: refuseUnknown });
    this.strict = refuseUnknown ? undefined : new InputPipe({ refuseUnknown: true });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body') checkShape(value);
    // PostgreSQL cannot store it in a text, and no name contains it.
    if (metadata.type === 'param' && typeof value === 'string' && value.includes('\0')) {
      throw new InvalidInputError('The path must not contain the character NUL.');
    }
    if (this.strict && hasStrictFields(metadata)) return this.strict.transform(value, metadata);
    return super.transform(value, metadata);
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
  return new InputPipe({ refuseUnknown: false });
}

/** Iterates level by level, because a recursion could exhaust the stack. */
function checkShape(body: unknown): void {
  let level: unknown[] = [body];
  let values = 0;
  for (let at = 0; at <= DEPTH; at += 1) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? partsOf(one) : []));
    if (level.length === 0) return;
    values += level.length;
    if (values > VALUES)
      throw new InvalidInputError(`The request body holds more than ${VALUES} values.`);
  }
  throw new InvalidInputError(`The request body is nested more than ${DEPTH} levels deep.`);
}

function partsOf(value: object): unknown[] {
  const parts = Object.values(value) as unknown[];
  if (!Array.isArray(value) && parts.length > FIELDS) {
    throw new InvalidInputError(`An object of the request body has more than ${FIELDS} fields.`);
  }
  return parts;
}

/** Unknown fields that are named. */
const NAMED = 20;
/** Longest name of an unknown field that is repeated to the client. */
const NAME = 100;

/** How class-validator names the refusal of an unknown field. */
const UNKNOWN = 'whitelistValidation';

function messages(errors: readonly ValidationError[], path = ''): string[] {
  return [
    ...unknownMessages(errors, path),
    ...errors.flatMap((error) => [
      ...Object.entries(error.constraints ?? {})
        .filter(([name]) => name !== UNKNOWN)
        .map(([, message]) => `${path}${message}`),
      ...messages(error.children ?? [], `${path}${error.property}.`),
    ]),
  ];
}

/** One message for the unknown fields of an object, with the fields that it has. */
function unknownMessages(errors: readonly ValidationError[], path: string): string[] {
  const unknown = errors.filter(isUnknown);
  const [first] = unknown;
  if (!first) return [];
  const names = unknown.slice(0, NAMED).map(({ property }) => `${path}${property.slice(0, NAME)}`);
  const known = fieldsOf(first.target).map((name) => `${path}${name}`);
  return [
    `${names.join(', ')}: unknown here, so nothing was done. The fields are ${known.join(', ')}. Remove or correct what is unknown`,
  ];
}

/** Their paths, as in budget.maxTokens. */
function unknownFields(errors: readonly ValidationError[], above = ''): string[] {
  return errors.flatMap((error) => {
    const path = `${above}${error.property.slice(0, NAME)}`;
    return [
      ...(isUnknown(error) ? [path] : []),
      ...unknownFields(error.children ?? [], `${path}.`),
    ];
  });
}

function isUnknown({ constraints }: ValidationError): boolean {
  return constraints !== undefined && UNKNOWN in constraints;
}

function fieldsOf(target: object | undefined): string[] {
  if (!target) return [];
  const found = getMetadataStorage().getTargetValidationMetadatas(
    target.constructor,
    '',
    false,
    false,
  );
  return [...new Set(found.map(({ propertyName }) => propertyName))];
}
