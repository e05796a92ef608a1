import { DomainError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Problem } from '../../agent/index.js';

const SHOWN = 3;
const MAX_REFUSAL_CHARS = 200;

/** An answer that does not have the form that was asked for. The message names why, with path and rule. */
export class ResponseFormatError extends DomainError {
  readonly code = 500;
}

export class AnswerDoesNotFitError extends ResponseFormatError {
  constructor(problems: readonly Problem[]) {
    super(
      msg`The answer does not fit its JSON Schema, also after a correction: ${problems.slice(0, SHOWN).map(line).join('; ')}. Send the message again, simplify the schema or choose another model.`,
    );
  }
}

export class AnswerCutError extends ResponseFormatError {
  constructor() {
    super(
      msg`The answer reached its length limit before its JSON was complete (finishReason length). Raise the limit (maxTokens), or ask for less.`,
    );
  }
}

/** `words` are those with which the model declined; a provider that filters an answer gives none. */
export class AnswerRefusedError extends ResponseFormatError {
  constructor(words: string) {
    const refusalText = words.trim().slice(0, MAX_REFUSAL_CHARS);
    super(
      msg`The model declined to answer (finishReason content-filter), so there is no JSON. ${refusalText === '' ? msg`Rephrase the message.` : msg`It said: ${refusalText}`}`,
    );
  }
}

export class AnswerTooLargeError extends ResponseFormatError {
  constructor(characters: number) {
    super(
      msg`The answer has more than ${characters} characters and cannot be checked. Ask for less.`,
    );
  }
}

/** One problem in one line: path, message and rule. */
export function line({ path, rule, message }: Problem): string {
  return `${path || '/'} ${message} (${rule})`;
}
