import type { Failure, FailureShape } from '../../platform/error/index.js';
import { ConflictError, InvalidInputError } from '../../platform/error/index.js';
import { messageForProgram, UnreadableBodyError } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

export const SCIM_TYPE = 'application/scim+json';
export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** Error types of RFC 7644, table 9. */
export type ScimErrorType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidValue'
  | 'invalidSyntax'
  | 'mutability'
  | 'noTarget';

/** An invalid request, with the error type of RFC 7644. */
export class ScimError extends InvalidInputError {
  constructor(
    readonly scimType: ScimErrorType,
    message: Message,
  ) {
    super(message);
  }
}

/** The error for an attribute with an invalid value; its name is repeated as it was sent, shortened. */
export function invalidValue(attribute: string): ScimError {
  return new ScimError('invalidValue', msg`The value of ${shortened(attribute)} is not valid.`);
}

export function invalidPath(path: string): ScimError {
  return new ScimError('invalidPath', msg`The path ${shortened(path)} does not name an attribute.`);
}

/** Two users or two groups with the same value of an attribute that is unique in the tenant. */
export class TakenError extends ConflictError {
  constructor(attribute: string, value: string) {
    super(msg`Another resource has the ${attribute} ${shortened(value)}.`);
  }
}

/** Failures below /scim: real HTTP statuses, and the errors of RFC 7644, 3.12. */
export const scimFailures: FailureShape = {
  paths: /^\/scim(\/|$)/i,
  answer: (failure) => {
    const status = statusOf(failure);
    const scimType = typeOf(failure);
    return {
      status,
      type: SCIM_TYPE,
      body: {
        schemas: [ERROR_SCHEMA],
        status: String(status),
        ...(scimType && { scimType }),
        detail: messageForProgram(failure),
      },
    };
  },
};

function statusOf({ code, error }: Failure): number {
  const data: unknown = error instanceof InvalidInputError || code === 400 ? dataOf(error) : null;
  return (data as { errorCode?: unknown } | null)?.errorCode === 'TOO_LARGE' ? 413 : code;
}

function dataOf(error: unknown): unknown {
  return error instanceof Error && 'data' in error ? error.data : null;
}

function typeOf(failure: Failure): string | undefined {
  const { code, error } = failure;
  if (error instanceof ScimError) return error.scimType;
  if (error instanceof UnreadableBodyError) return 'invalidSyntax';
  if (code === 409) return 'uniqueness';
  return statusOf(failure) === 400 ? 'invalidValue' : undefined;
}

const MAX_EXCERPT_CHARS = 100;

/** The beginning of a text of the request, for a message. */
export function shortened(text: string): string {
  return text.toWellFormed().slice(0, MAX_EXCERPT_CHARS).toWellFormed();
}
