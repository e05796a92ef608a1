import { eventFrame } from './event.view.js';
import type { StoredEvent } from '../../store/event.repository.js';

/** The events that end a stream. */
const LAST_EVENTS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled']);

/** What is written at once: small enough that a client that stops reading leaves little behind. */
const CHUNK_CHARACTERS = 32_768;

/** Events of a run that follow each other, ready to be written; readers at the same place share one. */
export interface EventPage {
  /** Whole frames as UTF-8. */
  readonly chunks: readonly Buffer[];
  /** Number of the last event; the position that was asked for when there is none. */
  readonly last: number;
  /** There was more than a page holds. */
  readonly more: boolean;
  /** The run's end is among them. */
  readonly ended: boolean;
}

export function eventPage(
  events: readonly StoredEvent[],
  { after, more }: { readonly after: number; readonly more: boolean },
): EventPage {
  return {
    chunks: [...chunksOf(events)],
    last: events.at(-1)?.sequence ?? after,
    more,
    ended: events.some(({ type }) => LAST_EVENTS.has(type)),
  };
}

function* chunksOf(events: readonly StoredEvent[]): Generator<Buffer> {
  let frames = '';
  for (const event of events) {
    frames += eventFrame(event);
    if (frames.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(frames);
    frames = '';
  }
  if (frames !== '') yield Buffer.from(frames);
}
