import { EventRepository, sourceKey } from '../../src/harness/store/event.repository.js';
import type { Plinth } from './plinth.js';

/** Meanwhile readers learn of new events by notifications alone: who looks from time to time finds nothing new. */
export async function withoutPolls(plinth: Plinth, act: () => Promise<void>): Promise<void> {
  const repository = plinth.app.get(EventRepository, { strict: false });
  const { progress } = repository;
  repository.progress = (sources) =>
    Promise.resolve(new Map(sources.map((one) => [sourceKey(one), { last: 0, ended: false }])));
  try {
    await act();
  } finally {
    repository.progress = progress;
  }
}
