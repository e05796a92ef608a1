import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { EventRange, StoredEvent } from '../../store/event.repository.js';
import { EventTail } from './event.feed.js';
import type { Follower } from './event.feed.js';

/** A table that answers when it is told to, with what it held when it was asked. */
class SlowTable {
  last = 0;
  readonly asked: number[] = [];
  private readonly answers: ((fails: boolean) => void)[] = [];

  page(_: unknown, { after }: EventRange): Promise<{ events: StoredEvent[]; more: boolean }> {
    this.asked.push(after);
    const events: StoredEvent[] = [];
    for (let sequence = after + 1; sequence <= this.last; sequence += 1) {
      events.push(eventOf(sequence));
    }
    return new Promise((resolve, reject) => {
      this.answers.push((fails) => {
        if (fails) reject(new Error('The table is away.'));
        else resolve({ events, more: false });
      });
    });
  }

  /** Answers the oldest question. */
  answer(fails = false): void {
    this.answers.shift()?.(fails);
  }
}

function eventOf(sequence: number): StoredEvent {
  const ids = {
    position: sequence,
    sessionId: 's',
    runId: 'r',
    stepId: null,
    toolCallId: null,
    approvalId: null,
  };
  return { ...ids, sequence, timestamp: 0, type: 'usage.updated', data: '{}' };
}

/** A follower, and what it waits for. */
class Reader {
  private readonly woken = new EventTarget();
  readonly follower: Follower;

  constructor(tail: EventTail) {
    this.follower = tail.follow(0, this.woken);
  }

  /** Resolves when there may be something to read. */
  async changed(): Promise<void> {
    if (!this.follower.isStale) await once(this.woken, 'wake');
  }
}

function newTail(onEmpty = (): void => undefined): { table: SlowTable; tail: EventTail } {
  const table = new SlowTable();
  return { table, tail: new EventTail({ tenantId: '000000', id: 'r' }, table, onEmpty) };
}

/** True when the promise settles before the event loop has turned. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('a follower', () => {
  it('is woken by what comes while it reads', async () => {
    const { table, tail } = newTail();
    const reader = new Reader(tail);
    const { follower } = reader;
    const reading = follower.read();
    table.last = 1;
    tail.reaches(1);
    table.answer();
    expect((await reading).last).toBe(0);
    expect(await isSettled(reader.changed())).toBe(true);
    const again = follower.read();
    table.answer();
    expect((await again).last).toBe(1);
  });

  it('sleeps when it has read everything that it was told of', async () => {
    const { table, tail } = newTail();
    const reader = new Reader(tail);
    table.last = 3;
    const reading = reader.follower.read();
    table.answer();
    await reading;
    tail.reaches(2);
    tail.reaches(3);
    const change = reader.changed();
    expect(await isSettled(change)).toBe(false);
    tail.reaches(4);
    expect(await isSettled(change)).toBe(true);
  });

  it('shares a reading with others at the same place, but none that began before it was woken', async () => {
    const { table, tail } = newTail();
    const first = new Reader(tail).follower;
    const second = new Reader(tail).follower;
    const third = new Reader(tail).follower;
    const readings = [first.read(), second.read()];
    expect(table.asked).toEqual([0]);
    table.last = 1;
    tail.reaches(1);
    readings.push(third.read());
    expect(table.asked).toEqual([0, 0]);
    table.answer();
    table.answer();
    expect((await Promise.all(readings)).map(({ last }) => last)).toEqual([0, 0, 1]);
    const later = first.read();
    expect(table.asked).toEqual([0, 0, 0]);
    table.answer();
    expect((await later).last).toBe(1);
  });

  it('reads again when the table could not be read', async () => {
    const { table, tail } = newTail();
    const { follower } = new Reader(tail);
    table.last = 1;
    const failing = follower.read();
    table.answer(true);
    await expect(failing).rejects.toThrow('away');
    const reading = follower.read();
    table.answer();
    expect((await reading).last).toBe(1);
  });

  it('is woken when the run is over', async () => {
    const { table, tail } = newTail();
    const reader = new Reader(tail);
    const reading = reader.follower.read();
    table.answer();
    await reading;
    const waiting = reader.changed();
    expect(await isSettled(waiting)).toBe(false);
    tail.end();
    expect(reader.follower.isOver).toBe(true);
    expect(await isSettled(waiting)).toBe(true);
  });

  it('leaves, and with the last one the tail', () => {
    let empty = 0;
    const { tail } = newTail(() => (empty += 1));
    const [first, second] = [new Reader(tail).follower, new Reader(tail).follower];
    first.leave();
    first.leave();
    expect(empty).toBe(0);
    second.leave();
    expect(empty).toBe(1);
  });
});
