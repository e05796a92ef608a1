import { describe, expect, it } from '@jest/globals';
import type { Database } from '../database/index.js';
import { HealthRepository } from './health.repository.js';

describe('probes of the store', () => {
  it('share one statement until it is answered or fails, so that they cannot use up the pool', async () => {
    const asked: PromiseWithResolvers<object[]>[] = [];
    const query = () => {
      const answer = Promise.withResolvers<object[]>();
      asked.push(answer);
      return answer.promise;
    };
    const database: Pick<Database, 'query'> = { query: query as Database['query'] };
    const health = new HealthRepository(database);

    const probes = Array.from({ length: 20 }, () => health.probe(2_000));
    expect(asked).toHaveLength(1);
    asked[0]?.reject(new Error('The database is away.'));
    expect((await Promise.allSettled(probes)).map(({ status }) => status)).toEqual(
      probes.map(() => 'rejected'),
    );

    const next = health.probe(2_000);
    expect(asked).toHaveLength(2);
    asked[1]?.resolve([]);
    await next;
  });
});
