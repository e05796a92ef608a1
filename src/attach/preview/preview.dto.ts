import { Id, Input, Text, Whole } from '../../platform/http/index.js';

/** Settings to try out; what is not given is taken from the knowledge base. */
export class PreviewBody extends Input({
  attachmentId: Id({ description: 'A document of the knowledge base' }),
  textBlockSize: Whole({ optional: true, max: 1_000_000, description: 'Above 0' }),
  overlapChar: Whole({
    optional: true,
    max: 1_000_000,
    description: 'At least 0, below textBlockSize',
  }),
  separator: Text({
    optional: true,
    max: 255,
    description: 'The two characters \\n mean a line feed',
  }),
  contextModel: Text({
    optional: true,
    max: 200,
    description: 'Estimates what a line of context for each fragment costs with this chat model',
  }),
}) {}
