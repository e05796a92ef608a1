import { Whole } from '../../../platform/http/index.js';

export const EVENTS_PER_PAGE = 1_000;

/** A page of a run's events. */
export class EventListQuery {
  @Whole({ optional: true, min: 0, description: 'Sequence of the last event that one has' })
  afterSequence?: number;

  @Whole({
    optional: true,
    min: 1,
    max: 10_000,
    description: `Events at most, ${EVENTS_PER_PAGE} when absent; a page of large ones may end earlier`,
  })
  limit?: number;
}

/** Where a reader of the stream goes on. */
export class EventStreamQuery {
  @Whole({ optional: true, min: 0, description: 'As Last-Event-ID; the larger one counts' })
  afterSequence?: number;
}
