import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Config } from '../platform/config/index.js';
import type { OpenStreams } from '../platform/access/index.js';
import type { EffectRepository } from '../effect/index.js';
import type { Database } from '../platform/database/index.js';
import type { Dependencies } from '../platform/dependency/index.js';
import { Metrics } from '../platform/observability/index.js';
import type { Shutdown } from '../platform/observability/index.js';
import { Spool, SpoolFullError } from '../platform/filesystem/index.js';
import { AnswerStore, keptAnswer } from './answer.store.js';
import { StepRepository } from './step.repository.js';
import { TurnRepository } from './turn.repository.js';
import type { KeptAnswer } from './turn.repository.js';

const FIRST = '11111111-1111-4111-8111-111111111111';
const SECOND = '22222222-2222-4222-8222-222222222222';

Logger.overrideLogger(false);

let dataDir: string;
const spoolOf = (folder: string, bytes: number): Spool<KeptAnswer> =>
  new Spool(folder, bytes, (value) => keptAnswer.parse(value));
let folder: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plinth-answers-'));
  folder = join(dataDir, 'answers');
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function answerOf(turnId: string, content = 'text'): KeptAnswer {
  return {
    owner: { tenantId: '000000', userId: 1 },
    answer: {
      turnId,
      questionId: 7,
      content,
      reasoning: '',
      modelName: 'model',
      state: 'complete',
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, estimated: false },
      durationMs: 10,
    },
  };
}

describe('the files of kept answers', () => {
  it('hold the answer, for the user of the process only', async () => {
    const spool = spoolOf(folder, 10_000);
    await spool.write(FIRST, answerOf(FIRST, 'Grüße 你好'));
    const [name = ''] = await spool.names(10);

    expect(await spool.names(10)).toEqual([`${FIRST}.json`]);
    expect(await spool.read(name)).toEqual(answerOf(FIRST, 'Grüße 你好'));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    await spool.remove(name);
    await spool.remove(name);
    expect(await spool.read(name)).toBeUndefined();
    expect(await spool.count()).toBe(0);
  });

  it('are as large together as the limit, at most', async () => {
    const spool = spoolOf(folder, 1_000);
    await spool.write(FIRST, answerOf(FIRST));

    await expect(spool.write(SECOND, answerOf(SECOND, 'x'.repeat(900)))).rejects.toThrow(
      SpoolFullError,
    );
    expect(readdirSync(folder)).toEqual([`${FIRST}.json`]);
  });

  it('are listed when they are complete, the oldest first; abandoned ones are removed', async () => {
    const spool = spoolOf(folder, 10_000);
    await spool.write(FIRST, answerOf(FIRST));
    await spool.write(SECOND, answerOf(SECOND));
    for (const name of ['a.json.1.part', 'b.json.2.part']) writeFileSync(join(folder, name), '{');
    utimesSync(join(folder, `${SECOND}.json`), 1_000, 1_000);
    utimesSync(join(folder, 'a.json.1.part'), 1_000, 1_000);

    expect(await spool.names(10)).toEqual([`${SECOND}.json`, `${FIRST}.json`]);
    expect(await spool.names(1)).toEqual([`${SECOND}.json`]);
    expect(readdirSync(folder)).not.toContain('a.json.1.part');
    expect(readdirSync(folder)).toContain('b.json.2.part');
  });
});

describe('a start with kept answers', () => {
  /** Resolves when the store has tried every file once. */
  async function startWith(finish: (turnId: string) => Promise<void>): Promise<string[]> {
    const turns = new TurnRepository({} as Database);
    turns.finish = (_, { turnId }) => finish(turnId);
    const steps = new StepRepository({} as Database, {} as EffectRepository);
    const shutdown = { graceOver: new AbortController().signal } as Shutdown;
    const metrics = new Metrics({} as OpenStreams, {} as Database, {} as Dependencies);
    const store = new AnswerStore({ DATA_DIR: dataDir } as Config, turns, steps, shutdown, metrics);
    await store.storeKept(new AbortController().signal);
    return readdirSync(folder).sort();
  }

  function refusal(code: string): Error {
    return Object.assign(new Error('refused'), { code });
  }

  beforeEach(async () => {
    const spool = spoolOf(folder, 10_000);
    await spool.write(FIRST, answerOf(FIRST));
    await spool.write(SECOND, answerOf(SECOND));
  });

  it('stores them', async () => {
    expect(await startWith(async () => undefined)).toEqual([]);
  });

  it('drops those of a tenant or user that is gone', async () => {
    expect(await startWith(() => Promise.reject(refusal('23503')))).toEqual([]);
  });

  it('leaves those that the database refuses to the operator, and stores the others', async () => {
    const files = await startWith(async (turnId) => {
      if (turnId === FIRST) throw refusal('22021');
    });
    expect(files).toEqual([`${FIRST}.json.refused`]);
  });

  it('keeps them while the database is away', async () => {
    const files = await startWith(() => Promise.reject(refusal('ECONNREFUSED')));
    expect(files).toEqual([`${FIRST}.json`, `${SECOND}.json`]);
  });

  it('leaves unreadable files to the operator, and stores the others', async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${FIRST}.json`), '{"owner":');
    expect(await startWith(async () => undefined)).toEqual([`${FIRST}.json.refused`]);
  });
});
