import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { NotFoundError } from '../../platform/error/index.js';
import { UUID } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { RunNotFoundError, SessionNotFoundError } from '../store/errors.js';

/** Maximum length of an idempotency key. */
export const MAX_KEY_CHARS = 256;

/** SHA-256 as hex digits, in any case. */
export const SHA256 = {
  pattern: /^[\da-f]{64}$/i,
  patternMessage: msg`must be 64 hex digits`,
} as const;

/** An id in a body or query, in any case. */
export const UUID_TEXT = {
  pattern: UUID,
  patternMessage: msg`must be a UUID`,
} as const;

/** Names of the things that path ids identify. Sessions and runs have errors of their own. */
const NAMES: ReadonlyMap<string, Message> = new Map([
  ['approvalId', msg`The approval`],
  ['artifactId', msg`The artifact`],
  ['grantId', msg`The grant`],
  ['toolCallId', msg`The tool call`],
]);

/** Reads a UUID out of a path, in lower case. Any other text names nothing, and is answered like an unknown id. */
@Injectable()
export class UuidPipe implements PipeTransform<string, string> {
  transform(value: string, { data: parameter }: ArgumentMetadata): string {
    const id = value.toLowerCase();
    if (UUID.test(id)) return id;
    if (parameter === 'sessionId') throw new SessionNotFoundError();
    if (parameter === 'runId') throw new RunNotFoundError();
    throw new NotFoundError(NAMES.get(parameter ?? '') ?? msg`The record`);
  }
}
