import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database, isUniqueViolation } from '../../src/platform/database/index.js';
import { Plinth } from '../support/plinth.js';

const TRANSACTION = 'SELECT txid_current() AS id';

let plinth: Plinth;
let database: Database;

beforeAll(async () => {
  plinth = await Plinth.start();
  database = plinth.app.get(Database);
});

afterAll(async () => {
  await plinth.stop();
});

describe('a prepared statement', () => {
  it('answers rows like any other', async () => {
    const text = 'SELECT $1::text AS name, $2::bigint AS count, $3::text[] AS list';
    const rows = await database.prepared(text, ['a', 1, ['b', 'c']]);
    expect(rows).toEqual([{ name: 'a', count: 1, list: ['b', 'c'] }]);
    expect(rows).toEqual(await database.query(text, ['a', 1, ['b', 'c']]));
  });

  it('joins the open transaction', async () => {
    await database.transaction(async () => {
      const own = await database.query(TRANSACTION);
      expect(await database.prepared(TRANSACTION, [])).toEqual(own);
      expect(await database.prepared(TRANSACTION, [])).toEqual(own);
    });
    const [first] = await database.prepared(TRANSACTION, []);
    expect(await database.prepared(TRANSACTION, [])).not.toEqual([first]);
  });

  it('is parsed once by its connection, whatever the values', async () => {
    const text = `SELECT $1::integer AS number`;
    await database.transaction(async () => {
      for (let number = 0; number < 10; number += 1) {
        expect(await database.prepared(text, [number])).toEqual([{ number }]);
      }
      const kept = await database.query(
        `SELECT generic_plans + custom_plans AS runs FROM pg_prepared_statements WHERE statement = $1`,
        [text],
      );
      expect(kept).toEqual([{ runs: 10 }]);
    });
  });

  it('is refused in a transaction that has ended', async () => {
    const later = await database.transaction(() => Promise.resolve(AsyncLocalStorage.snapshot()));
    await expect(later(() => database.prepared(TRANSACTION, []))).rejects.toThrow('has ended');
  });

  it('fails with the error of the database, and its transaction with it', async () => {
    const failure = await database
      .transaction(async () => {
        await database.query('CREATE TEMPORARY TABLE once (name text PRIMARY KEY) ON COMMIT DROP');
        await database.prepared('INSERT INTO once VALUES ($1), ($1)', ['same']);
      })
      .catch((error: unknown) => error);
    expect(isUniqueViolation(failure)).toBe(true);
    expect(await database.prepared(`SELECT to_regclass('once') AS found`, [])).toEqual([
      { found: null },
    ]);
  });
});

describe('what follows a commit', () => {
  it('is done side by side, all of it, whatever fails', async () => {
    const done: string[] = [];
    const second = Promise.withResolvers<undefined>();
    const work = database.transaction(async () => {
      await database.afterCommit(async () => {
        await second.promise;
        done.push('first');
        throw new Error('The first has failed.');
      });
      await database.afterCommit(() => {
        done.push('second');
        second.resolve(undefined);
      });
      expect(done).toEqual([]);
    });
    await expect(work).rejects.toThrow('The first has failed.');
    expect(done).toEqual(['second', 'first']);
  });

  it('does not come without the commit', async () => {
    const done: string[] = [];
    const work = database.transaction(async () => {
      await database.afterCommit(() => void done.push('never'));
      throw new Error('Rolled back.');
    });
    await expect(work).rejects.toThrow('Rolled back.');
    expect(done).toEqual([]);
  });
});
