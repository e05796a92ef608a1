import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import type { Problem } from './schema-walk.js';

const SHOWN = 5;

/** A client's field names for the parts of a response format. */
export interface FormatNames {
  readonly type: string;
  readonly name: string;
  readonly schema: string;
}

const OWN_NAMES: FormatNames = {
  type: 'responseFormat.type',
  name: 'responseFormat.name',
  schema: 'responseFormat.schema',
};

/** The response format of a request that cannot be used. */
export class InvalidResponseFormatError extends InvalidInputError {
  /** @param messageFor Its message for a client with other names than those of Plinth. */
  constructor(readonly messageFor: (names: FormatNames) => Message) {
    super(messageFor(OWN_NAMES));
  }
}

/** The schema of a response format that cannot be used; names the path and the rule of each problem. */
export class InvalidSchemaError extends InvalidResponseFormatError {
  constructor(problems: readonly Problem[]) {
    const listedProblems = problems
      .slice(0, SHOWN)
      .map(({ path, message }) => `${path || '/'} ${message}`);
    super(({ schema }) => msg`${schema} cannot be used: ${listedProblems.join('; ')}.`);
  }
}

export class SchemaTooSlowError extends InvalidResponseFormatError {
  constructor() {
    super(
      ({ schema }) =>
        msg`${schema} takes too long to check. Simplify its patterns, and alternatives that refer to each other.`,
    );
  }
}
