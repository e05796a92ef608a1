import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Problem } from './schema-walk.js';

const SHOWN = 5;

/** `responseFormat` of a request that cannot be used. */
export class InvalidResponseFormatError extends InvalidInputError {}

/** The schema of a response format that cannot be used; names the path and the rule of each problem. */
export class InvalidSchemaError extends InvalidResponseFormatError {
  constructor(problems: readonly Problem[]) {
    const shown = problems.slice(0, SHOWN).map(({ path, message }) => `${path || '/'} ${message}`);
    super(msg`responseFormat.schema cannot be used: ${shown.join('; ')}.`);
  }
}

export class SchemaTooSlowError extends InvalidResponseFormatError {
  constructor() {
    super(
      msg`responseFormat.schema takes too long to check. Simplify its patterns, and alternatives that refer to each other.`,
    );
  }
}
