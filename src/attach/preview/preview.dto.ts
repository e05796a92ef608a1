import { Id, Text, Whole } from '../../platform/http/index.js';

/** Settings to try out; what is not given is taken from the knowledge base. */
export class PreviewBody {
  @Id({ description: 'A document of the knowledge base' })
  attachmentId: number;

  @Whole({ optional: true, max: 1_000_000, description: 'Above 0' })
  textBlockSize?: number;

  @Whole({ optional: true, max: 1_000_000, description: 'At least 0, below textBlockSize' })
  overlapChar?: number;

  @Text({ optional: true, max: 255, description: 'The two characters \\n mean a line feed' })
  separator?: string;
}
