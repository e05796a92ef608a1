import { OpenStreams } from '../../src/platform/access/index.js';
import { EventFeed } from '../../src/harness/api/event/event.feed.js';
import { EventReader } from './event-reader.js';
import { deltas } from './harness-run.js';
import type { OwnRun } from './harness-run.js';
import { makeRole, makeUser } from './people.js';
import type { Person } from './people.js';
import { Plinth } from './plinth.js';
import type { Session } from './session.js';
import { eventually } from './wait.js';

/** A Plinth with a user who reads the events of runs. */
export class WatchedRuns {
  private constructor(
    readonly plinth: Plinth,
    readonly admin: Session,
    readonly user: Person,
  ) {}

  static async start(): Promise<WatchedRuns> {
    const plinth = await Plinth.start({ CHAT_STREAMS_PER_USER: '80' });
    const admin = await plinth.signIn();
    const role = await makeRole(admin, 'watcher', ['coding:harness:use']);
    return new WatchedRuns(plinth, admin, await makeUser(plinth, admin, 'watcher', [role]));
  }

  open(run: OwnRun, query = '', headers: Record<string, string> = {}): Promise<EventReader> {
    return EventReader.open(this.user.session, run.stream + query, headers);
  }

  /** Nobody reads any more, and nothing is left of those who did. */
  async isQuiet(): Promise<void> {
    const feed = this.plinth.app.get(EventFeed, { strict: false });
    const streams = this.plinth.app.get(OpenStreams);
    await eventually(
      () => [feed.size, streams.size],
      ([runs, open]) => runs === 0 && open === 0,
    );
  }
}

/** Events of the run, each with a text of its own. */
export async function write(
  run: OwnRun,
  count: number,
  text: (number: number) => string = String,
): Promise<void> {
  await run.ledger.append(run.lease, deltas(count, text));
}
