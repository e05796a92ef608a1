import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { EventReader } from './event-reader.js';
import { complete, deltas, upTo } from './harness-run.js';
import type { OwnRun } from './harness-run.js';
import type { Session } from './session.js';

const bursts = fc.array(fc.record({ events: fc.integer({ min: 1, max: 700 }), pause: fc.nat(8) }), {
  minLength: 3,
  maxLength: 10,
});
type Bursts = readonly { readonly events: number; readonly pause: number }[];

/** How long each connection stays; the one after the last of them stays to the end. */
const stays = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 4, maxLength: 12 });

/**
 * Checks that a reader who loses the connection again and again, at random, while the run is written misses nothing and
 * gets nothing twice. It connects by the sessions in turn, which may be those of several services.
 */
export async function checkBrokenReading(
  newRun: () => Promise<OwnRun>,
  sessions: readonly Session[],
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(bursts, stays, fc.boolean(), async (written, connections, byHeader) => {
      const run = await newRun();
      const writing = write(run, written);
      const seen: number[] = [];
      for (let turn = 0; ; turn += 1) {
        const session = sessions[turn % sessions.length];
        if (!session) throw new Error('Nobody reads.');
        const reader = await reopen(session, run, { position: seen.at(-1) ?? 0, byHeader });
        const stay = connections[turn];
        if (stay === undefined) await reader.end();
        else await sleep(stay);
        reader.leave();
        seen.push(...reader.sequences);
        if (stay === undefined || reader.status === 204) break;
      }
      await writing;
      expect(seen).toEqual(upTo(written.reduce((sum, { events }) => sum + events, 1)));
    }),
    { numRuns: 15 },
  );
}

async function write(run: OwnRun, written: Bursts): Promise<void> {
  for (const { events, pause } of written) {
    await run.ledger.append(run.lease, deltas(events, String));
    await sleep(pause);
  }
  await complete(run);
}

function reopen(
  session: Session,
  { stream }: OwnRun,
  { position, byHeader }: { readonly position: number; readonly byHeader: boolean },
): Promise<EventReader> {
  return byHeader
    ? EventReader.open(session, stream, { 'Last-Event-ID': String(position) })
    : EventReader.open(session, `${stream}?afterSequence=${position}`);
}
