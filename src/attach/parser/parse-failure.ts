import { msg } from '../../platform/message/index.js';
import {
  ForeignDocument,
  nestedTooDeeply,
  Refusal,
  UnreadPages,
} from './format/document-source.js';
import type { ParseOutcome } from './parse-task.js';

/**
 * Turns the failure of a reader into a sentence for the owner of the document. What an unknown error says is for the log
 * alone: it names parts of a program. Without the errors of the service, so that parser processes do not load Nest.
 */
export function failureOf(error: unknown): Exclude<ParseOutcome, { readonly type: 'parsed' }> {
  if (error instanceof UnreadPages) {
    return { type: 'unread', unread: { pages: error.pages, total: error.total } };
  }
  if (error instanceof ForeignDocument) {
    return { type: 'foreign', reason: error.userMessage, to: error.to };
  }
  if (error instanceof Refusal) return { type: 'refused', reason: error.userMessage };
  if (error instanceof RangeError && error.message.includes('call stack')) {
    return { type: 'refused', reason: nestedTooDeeply().userMessage };
  }
  return {
    type: 'broken',
    reason: msg`The document cannot be read; it is damaged or not what its name says. Open it, save it again and upload the result.`,
    cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}
