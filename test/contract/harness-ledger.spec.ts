import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Database } from '../../src/platform/database/index.js';
import { EventBus } from '../../src/platform/event/index.js';
import { RunWorker } from '../../src/harness/engine/run.js';
import { claimOf, FencedError } from '../../src/harness/protocol/run.state.js';
import type { RunClaim } from '../../src/harness/protocol/run.state.js';
import { deltas, ownRun, upTo } from '../support/harness-run.js';
import type { OwnRun } from '../support/harness-run.js';
import { Plinth } from '../support/plinth.js';
import type { Session } from '../support/session.js';
import { eventually } from '../support/wait.js';

interface Deed {
  readonly worker: 0 | 1;
  readonly kind: 'claim' | 'append' | 'as-owner' | 'as-other' | 'fail' | 'expire';
  readonly events: number;
}

/** What was written, as the event's text tells: by whom, with which fence. */
interface Written {
  readonly sequence: number;
  readonly type: string;
  readonly text: string;
}

const anyDeed: fc.Arbitrary<Deed> = fc.record({
  worker: fc.constantFrom(0, 1),
  kind: fc.constantFrom('claim', 'append', 'append', 'as-owner', 'as-other', 'fail', 'expire'),
  events: fc.integer({ min: 1, max: 4 }),
} as const);

/** Deeds of one group are begun together. */
const anyHistory = fc.array(fc.array(anyDeed, { minLength: 1, maxLength: 5 }), {
  minLength: 2,
  maxLength: 8,
});

/** Two workers who write to one run, each with the lease that it last got. */
class Workers {
  readonly stored = new Set<string>();
  readonly refused = new Set<string>();
  private readonly leases: (RunClaim | undefined)[];
  private texts = 0;

  constructor(
    private readonly database: Database,
    private readonly run: OwnRun,
  ) {
    this.leases = [run.lease, undefined];
  }

  async do({ worker, kind, events }: Deed): Promise<void> {
    const { tenantId, runId } = this.run.lease;
    if (kind === 'claim') return this.claim(worker);
    if (kind === 'expire') return this.expire();
    const lease = this.leases[worker];
    if (!lease && kind !== 'as-other') return;
    this.texts += 1;
    const who = kind === 'as-other' ? 'other' : `fence ${lease?.fence}`;
    const drafts = deltas(events, (number) => `${who}, text ${this.texts}.${number}`);
    const texts = drafts.map(({ data }) => ('delta' in data ? data.delta : ''));
    try {
      if (kind === 'as-other') {
        await this.run.ledger.updateRun(tenantId, runId, (writer) => writer.events(drafts));
      } else if (kind === 'append' && lease) await this.run.ledger.append(lease, drafts);
      else if (lease) {
        await this.run.ledger.asOwner(lease, (writer) => {
          writer.events(drafts);
          writer.set({ reason: texts[0] ?? null });
          if (kind === 'fail') throw new OwnError();
        });
      }
      for (const text of texts) this.stored.add(text);
    } catch (error) {
      if (!(error instanceof FencedError) && !(error instanceof OwnError)) throw error;
      for (const text of texts) this.refused.add(text);
    }
  }

  private async claim(worker: 0 | 1): Promise<void> {
    const { tenantId, runId } = this.run.lease;
    const owner = randomUUID();
    await this.run.ledger.updateRun(tenantId, runId, (writer) => {
      // That a run is given up in the end is another test's.
      if (claimOf(writer.current) !== 'claim') return;
      writer.claim(owner, 'test');
      this.leases[worker] = { tenantId, runId, owner, fence: writer.current.fence };
    });
  }

  private async expire(): Promise<void> {
    await this.database.query(
      'UPDATE harness_run SET lease_until = now() WHERE tenant_id = $1 AND id = $2',
      [this.run.lease.tenantId, this.run.runId],
    );
  }
}

class OwnError extends Error {}

let plinth: Plinth;
let admin: Session;
let database: Database;

beforeAll(async () => {
  plinth = await Plinth.start();
  // The runs of this file are the test's own: nobody is to take up those whose leases end.
  await plinth.app.get(RunWorker, { strict: false }).beforeApplicationShutdown();
  admin = await plinth.signIn();
  database = plinth.app.get(Database);
});

afterAll(() => plinth.stop());

async function eventsOf({ lease, runId }: OwnRun): Promise<Written[]> {
  return database.query<Written>(
    `SELECT sequence, type, data ->> 'delta' AS text FROM harness_event
      WHERE tenant_id = $1 AND run_id = $2 ORDER BY sequence`,
    [lease.tenantId, runId],
  );
}

describe('the ledger of a run', () => {
  it('numbers events without gaps, stores all or nothing of a write, and nothing of who has lost the lease', async () => {
    let fenced = 0;
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const run = await ownRun(plinth, admin);
        const workers = new Workers(database, run);
        for (const group of history) await Promise.all(group.map((deed) => workers.do(deed)));

        const events = await eventsOf(run);
        expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
        const written = events.filter(({ type }) => type === 'assistant.text.delta');
        expect(new Set(written.map(({ text }) => text))).toEqual(workers.stored);
        expect(written).toHaveLength(workers.stored.size);
        let fence = 1;
        for (const { type, text } of events) {
          if (type === 'run.recovering') fence += 1;
          else if (!text.startsWith('other')) expect(text).toMatch(new RegExp(`^fence ${fence},`));
        }
        const [row] = await database.query<{ next: number; fence: number }>(
          'SELECT next_event_sequence AS next, fence FROM harness_run WHERE tenant_id = $1 AND id = $2',
          [run.lease.tenantId, run.runId],
        );
        expect(row).toEqual({ next: events.length + 1, fence });
        fenced += workers.refused.size;
      }),
      { numRuns: 60 },
    );
    expect(fenced).toBeGreaterThan(0);
  });

  it('tells readers of a write once it is committed, and not of one that fails', async () => {
    const run = await ownRun(plinth, admin);
    const told: number[] = [];
    const unsubscribe = plinth.app
      .get(EventBus)
      .subscribe('harness.event', ({ runId, sequence }) => {
        if (runId === run.runId) told.push(sequence);
      });
    const toldOf = async (sequences: string): Promise<void> => {
      await eventually(
        () => told.join(),
        (found) => found === sequences,
      );
    };
    await run.ledger.append(run.lease, deltas(3, String));
    await toldOf('3');
    await run.ledger.asOwner(run.lease, async (writer) => {
      writer.events(deltas(2, String));
      expect(told).toEqual([3]);
    });
    await toldOf('3,5');
    const failing = run.ledger.asOwner(run.lease, (writer) => {
      writer.events(deltas(2, String));
      throw new OwnError();
    });
    await expect(failing).rejects.toThrow(OwnError);
    expect(told).toEqual([3, 5]);
    unsubscribe();
    expect(await eventsOf(run)).toHaveLength(5);
  });
});
