import { Whole } from '../../../platform/http/index.js';

export const MESSAGES_PER_PAGE = 500;

export class HarnessMessageListQuery {
  @Whole({ optional: true, min: 0, description: 'Number of the last message that one has' })
  afterSequence?: number;

  @Whole({
    optional: true,
    min: 1,
    max: 10_000,
    description: `${MESSAGES_PER_PAGE} when not given; fewer come where they are large`,
  })
  limit?: number;
}
