import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EMBEDDING_BATCH } from '../../src/model/embedding/embedding.client.js';
import { TESSERACT } from '../../src/attach/recognition/text-recognition.js';
import { createCanvas } from '@napi-rs/canvas';
import { scannedPdf } from '../support/documents/pdf.js';
import { byTest } from '../support/asked-by-test.js';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { systemCaller } from '../../src/platform/access/index.js';
import { ParsingRepository } from '../../src/attach/parsing/parsing.repository.js';
import { PARSE_JOB, PARSE_LARGE_JOB } from '../../src/attach/parsing/parsing.queue.js';
import { VectorReconciliation } from '../../src/attach/reconciliation/vector-reconciliation.js';
import { Database } from '../../src/platform/database/index.js';
import { JobQueue } from '../../src/platform/queue/index.js';
import { msg } from '../../src/platform/message/index.js';
import { VectorStores } from '../../src/vector-store/index.js';
import {
  attachmentsOf,
  createKnowledge,
  FAILED,
  fragmentsOf,
  PARSED,
  settled,
  upload,
} from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { overrideConstants } from '../support/override-constants.js';
import { done, makeRole, makeUser } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import type { Session } from '../support/session.js';
import { eventually } from '../support/wait.js';

const TENANT = '000000';
const PARSING_MS = 60_000;

/** About this many fragments of 500 characters. */
const longText = (fragments: number, seed = 'Fact'): string =>
  Array.from({ length: fragments }, (_, n) => `${seed} ${n}: ${`word${n} `.repeat(60)}`).join(
    '\n\n',
  );

/** The first bytes of the OLE compound file format, in which Word wrote until 2003. */
const OLE = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2_048, 1)]);

describe('parsing', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let count = 0;
  const programs = mkdtempSync(join(tmpdir(), 'plinth-programs-'));
  const tesseract = join(programs, 'tesseract');

  overrideConstants(TESSERACT, { program: tesseract });

  overrideConstants(EMBEDDING_BATCH, { size: 4 });

  beforeAll(async () => {
    simulator = await startSimulator();
    writeFileSync(tesseract, '#!/bin/sh\ncat > /dev/null\necho "Read by tesseract."\n');
    chmodSync(tesseract, 0o700);
    plinth = await Plinth.start({
      EMBEDDING_CONCURRENCY: '1',
    });
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    for (const [modelName, modelDimension] of [
      ['sim-embed-64', 64],
      ['sim-wrong-64', 65],
      ['sim-slow-64--first-400', 64],
      ['sim-refusing-64--status-400', 64],
    ] as const) {
      await createModel(admin, {
        modelName,
        modelDimension,
        category: 'vector',
        apiHost: `${simulator.url}/v1`,
        apiKey: 'key',
      });
    }
    for (const [modelName, supportsVision] of [
      ['sim-vision', true],
      ['sim-blind', false],
    ] as const) {
      const apiHost = `${simulator.url}/v1`;
      await createModel(admin, { modelName, supportsVision, apiHost, apiKey: 'key' });
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
    rmSync(programs, { recursive: true, force: true });
  });

  beforeEach(() => simulator.reset());

  function base(fields: Record<string, unknown> = {}, session = admin): Promise<number> {
    count += 1;
    const name = `Base ${count}`;
    return createKnowledge(session, { name, embeddingModel: 'sim-embed-64', ...fields });
  }

  const vectors = (knowledgeId: number): Promise<number> =>
    byTest(plinth.app.get(VectorStores).default()).count(
      { tenantId: TENANT, knowledgeId },
      undefined,
      AbortSignal.timeout(10_000),
    );

  const rows = (table: string, knowledgeId: number): Promise<number> =>
    plinth.app
      .get(Database)
      .query<{ n: number }>(
        `SELECT count(*) AS n FROM ${table} WHERE tenant_id = $1 AND knowledge_id = $2`,
        [TENANT, knowledgeId],
      )
      .then(([row]) => row?.n ?? -1);

  const embedCalls = (): number =>
    simulator.requests.filter(({ path }) => path.endsWith('/embeddings')).length;

  const embedInputs = (): string[][] =>
    simulator.requests
      .filter(({ path }) => path.endsWith('/embeddings'))
      .map(({ body }) => (body as { input: string[] }).input);

  it('goes from pending to parsed, with one vector and its words for each fragment', async () => {
    const id = await base();
    const { code, data } = await upload(admin, id, [['facts.txt', longText(10)]]);
    expect([code, data.length]).toEqual([200, 1]);
    const [row] = await settled(admin, id);
    expect(row).toMatchObject({ status: PARSED, remark: null });
    expect(row?.fragmentCount).toBeGreaterThanOrEqual(10);
    expect(row?.progressDone).toBe(row?.progressTotal);
    expect(await vectors(id)).toBe(row?.fragmentCount);
    expect(await rows('fragment', id)).toBe(row?.fragmentCount);
    expect(await rows('keyword_posting', id)).toBeGreaterThan(10);
  });

  it('waits for an explicit parse when autoParse is false', async () => {
    const id = await base();
    const { data } = await upload(admin, id, [['later.txt', 'Some text.']], false);
    const [waiting] = await attachmentsOf(admin, id);
    expect(waiting).toMatchObject({ status: 0, fragmentCount: 0 });
    expect((await admin.post(`/system/attach/parse/${data[0]?.id}`)).code).toBe(200);
    expect((await settled(admin, id))[0]?.status).toBe(PARSED);
  });

  it('replaces fragments and vectors as a set on each parse', async () => {
    const id = await base();
    await upload(admin, id, [['facts.txt', longText(6)]]);
    const [before] = await settled(admin, id);
    const old = await fragmentsOf(admin, before?.docId ?? '');
    await admin.put('/system/info', { id, textBlockSize: 5000 });
    const again = await admin.post(`/system/attach/reparse/knowledge/${id}`);
    expect(again.data).toEqual({ submitted: 1, skipped: 0, total: 1 });
    const [after] = await settled(admin, id);
    expect(after?.fragmentCount).toBeLessThan(before?.fragmentCount ?? 0);
    expect(await vectors(id)).toBe(after?.fragmentCount);
    const fresh = await fragmentsOf(admin, after?.docId ?? '');
    expect(fresh.some(({ fid }) => old.some((one) => one.fid === fid))).toBe(false);
  });

  it.each([
    { when: 'the model answers another dimension', model: 'sim-wrong-64', reason: /65.*64|64.*65/ },
    { when: 'the provider refuses', model: 'sim-refusing-64--status-400', reason: /provider/i },
    { when: 'the file holds no text', content: '  \n ', reason: /no text/i },
    { when: 'it is a damaged old Word document', name: 'old.doc', content: OLE, reason: /damaged/ },
    {
      when: 'it is a text under the name of a PDF',
      name: 'report.pdf',
      content: '<!doctype html><p>Sign in first.</p>',
      reason: /^This is not a PDF; it looks like HTML/,
    },
  ])('fails with a reason when $when', async (given) => {
    const { model = 'sim-embed-64', name = 'a.txt', content = 'Text.', reason } = given;
    const id = await base({ embeddingModel: model });
    await upload(admin, id, [[name, content]]);
    const [row] = await settled(admin, id);
    expect([row?.status, row?.fragmentCount]).toEqual([FAILED, 0]);
    expect(row?.remark).toMatch(reason);
    expect(await vectors(id)).toBe(0);
  });

  it('keeps the old content when a new attempt fails, and repeats only the batch that failed', async () => {
    const id = await base();
    await upload(admin, id, [['facts.txt', longText(12)]]);
    const [before] = await settled(admin, id);
    simulator.reset();
    simulator.script({ status: 500 }, { status: 500 });
    await admin.post(`/system/attach/parse/${before?.id}`);
    const [after] = await settled(admin, id);
    expect(after?.status).toBe(PARSED);
    const batches = Math.ceil((after?.fragmentCount ?? 0) / 4);
    expect(embedCalls()).toBe(batches + 2);
  });

  it('ends at once when it is cancelled, and leaves nothing half done', async () => {
    const id = await base({ embeddingModel: 'sim-slow-64--first-400' });
    await upload(admin, id, [['facts.txt', longText(40)]]);
    const [running] = await eventually(
      () => attachmentsOf(admin, id),
      ([row]) => row?.status === 1 && (row.progressTotal ?? 0) > 0,
      PARSING_MS,
    );
    expect((await admin.post(`/system/attach/${running?.id}/cancel`)).code).toBe(200);
    const [row] = await attachmentsOf(admin, id);
    expect([row?.status, row?.remark]).toEqual([FAILED, expect.stringContaining('cancelled')]);
    await eventually(embedCallsSettled, (still) => still, PARSING_MS);
    expect([await vectors(id), await rows('fragment', id)]).toEqual([0, 0]);
  });

  it('lets no small document wait for large ones', async () => {
    const large = await base();
    const small = await base();
    simulator.script({ hold: true, match: { path: '/embeddings' } });
    const padding = ' '.repeat(256 * 1_024);
    // As many as are ingested at the same time.
    await upload(
      admin,
      large,
      Array.from({ length: 16 }, (_, n) => [`large-${n}.txt`, `Large ${n}.${padding}`] as const),
    );
    await eventually(
      () => plinth.app.get(JobQueue).counts(PARSE_LARGE_JOB),
      ({ active, waiting }) => active === 4 && waiting === 12,
    );
    await upload(admin, small, [['small.txt', 'Small.']]);
    await eventually(
      () => attachmentsOf(admin, small),
      ([row]) => row?.progressTotal === 1,
      PARSING_MS,
    );
    simulator.release();
    for (const id of [large, small]) {
      const rows = await settled(admin, id);
      expect(rows.filter(({ status }) => status !== PARSED)).toEqual([]);
    }
  });

  it('shares embedding calls among small documents, and drops one that is cancelled', async () => {
    const id = await base();
    simulator.script({ hold: true, match: { path: '/embeddings' } });
    const names = Array.from({ length: 9 }, (_, n) => `small-${n}.txt`);
    await upload(admin, id, [[names[0] ?? '', 'Small document 0.']]);
    await eventually(embedCalls, (calls) => calls === 1, PARSING_MS);
    await upload(
      admin,
      id,
      names.slice(1).map((name, n) => [name, `Small document ${n + 1}.`] as const),
    );
    const waiting = await eventually(
      () => attachmentsOf(admin, id),
      (rows) => rows.length === 9 && rows.every(({ progressTotal }) => progressTotal === 1),
      PARSING_MS,
    );
    const cancelled = waiting.find(({ name }) => name === 'small-5.txt');
    done(await admin.post(`/system/attach/${cancelled?.id}/cancel`));
    await eventually(
      () => plinth.app.get(JobQueue).counts(PARSE_JOB),
      ({ active }) => active === 8,
    );
    simulator.release();
    const rows = await settled(admin, id);
    expect(rows.map(({ name, status }) => [name, status]).sort()).toEqual(
      names.map((name) => [name, name === 'small-5.txt' ? FAILED : PARSED]),
    );
    // The one that was held, and seven documents in batches of four.
    const sent = embedInputs();
    expect(sent.map((texts) => texts.length)).toEqual([1, 4, 3]);
    expect(sent.flat()).not.toContain('Small document 5.');
    for (const { name, docId, status } of rows) {
      const fragments = await fragmentsOf(admin, docId);
      const own = `Small document ${name.replace(/\D/g, '')}.`;
      expect(fragments.map(({ content }) => content)).toEqual(status === PARSED ? [own] : []);
    }
    expect(await vectors(id)).toBe(8);
  });

  it('sends documents alone whose shared call is refused, and names them in the log', async () => {
    const id = await base();
    simulator.script({ hold: true, match: { path: '/embeddings' } });
    await upload(admin, id, [['first.txt', 'The first one.']]);
    await eventually(embedCalls, (calls) => calls === 1, PARSING_MS);
    await upload(admin, id, [
      ['good.txt', 'A good text.'],
      ['other.txt', 'Another good text.'],
    ]);
    await eventually(
      () => attachmentsOf(admin, id),
      (rows) => rows.length === 3 && rows.every(({ progressTotal }) => progressTotal === 1),
      PARSING_MS,
    );
    simulator.script({ status: 400 }, { status: 400 });
    simulator.release();
    const rows = await settled(admin, id);
    const failed = rows.filter(({ status }) => status === FAILED);
    expect(embedInputs().map((texts) => texts.length)).toEqual([1, 2, 1, 1]);
    expect(failed.map(({ remark }) => remark)).toEqual([
      expect.stringMatching(/^The provider rejected the request \(400\)/),
    ]);
    const shared = rows.filter(({ name }) => name !== 'first.txt').map((row) => row.id);
    const line = plinth.log.map((text) => JSON.parse(text) as Record<string, unknown>);
    const found = line.find(({ msg }) => msg === 'Failed to embed a shared batch');
    expect(found?.['attachmentIds']).toEqual(expect.arrayContaining(shared));
  });

  it.each(['attachment', 'knowledge base'])(
    'leaves nothing of a deleted %s, also while it is being parsed',
    async (what) => {
      const id = await base({ embeddingModel: 'sim-slow-64--first-400' });
      await upload(admin, id, [['facts.txt', longText(24)]]);
      const [running] = await eventually(
        () => attachmentsOf(admin, id),
        ([row]) => row?.status === 1,
        PARSING_MS,
      );
      const path = what === 'attachment' ? `/system/attach/${running?.id}` : `/system/info/${id}`;
      expect((await admin.delete(path)).code).toBe(200);
      await eventually(embedCallsSettled, (still) => still, PARSING_MS);
      expect(await vectors(id)).toBe(0);
      for (const table of ['attachment', 'fragment', 'keyword_posting']) {
        expect([table, await rows(table, id)]).toEqual([table, 0]);
      }
      expect(await plinth.app.get(VectorReconciliation).reconcile()).toBe(0);
    },
  );

  it('gives one document to one worker, and to another only once the lease is over', async () => {
    const id = await base();
    const { data } = await upload(admin, id, [['facts.txt', 'Text.']], false);
    const row = { tenantId: TENANT, id: data[0]?.id ?? 0 };
    const repository = plinth.app.get(ParsingRepository);
    const caller = systemCaller(TENANT, 0);
    expect(await repository.request(caller, [row.id])).toMatchObject([row]);
    const claims = Array.from({ length: 6 }, () => ({ ...row, token: randomUUID() }));
    const taken = await Promise.all(claims.map((claim) => repository.claim(claim)));
    expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
    const first = claims[taken.findIndex((one) => one !== undefined)] ?? claims[0];
    const second = { ...row, token: randomUUID() };
    expect(await repository.request(caller, [row.id])).toEqual([]);
    expect(await repository.claim(second)).toBeUndefined();
    await repository.expireAllLeases();
    expect(await repository.claim(second)).toMatchObject({ attempts: 2 });
    const stale = {
      done: 1,
      total: 1,
      waitingFor: null,
      ocrDone: 0,
      ocrTotal: null,
      contextDone: 0,
      inputTokens: 0,
      outputTokens: 0,
    };
    if (!first) throw new Error('Nobody took the document.');
    expect(await repository.renew(first, stale)).toBe(false);
    expect(await repository.finish(first, { fragments: 1, encoding: undefined })).toBe(false);
    await repository.fail(first, msg`An answer that came too late`);
    expect((await attachmentsOf(admin, id))[0]).toMatchObject({ status: 1, remark: null });
    await repository.fail(second, msg`Enough.`);
  });

  it('gives up after the third process has died over a document', async () => {
    const id = await base();
    const { data } = await upload(admin, id, [['facts.txt', 'Text.']], false);
    const row = { tenantId: TENANT, id: data[0]?.id ?? 0 };
    const repository = plinth.app.get(ParsingRepository);
    await repository.request(systemCaller(TENANT, 0), [row.id]);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect(await repository.claim({ ...row, token: randomUUID() })).toMatchObject({
        attempts: attempt,
      });
      await repository.expireAllLeases();
    }
    expect(await repository.claim({ ...row, token: randomUUID() })).toBeUndefined();
    expect(await repository.failExhausted(msg`Three died.`)).toBe(1);
    expect((await attachmentsOf(admin, id))[0]).toMatchObject({
      status: FAILED,
      remark: 'Three died.',
    });
  });

  it('stops for a user who is disabled meanwhile', async () => {
    const role = await makeRole(admin, 'writer', [
      'system:info:list',
      'system:info:add',
      'system:attach:list',
      'system:attach:add',
    ]);
    const writer = await makeUser(plinth, admin, 'writer', [role]);
    const id = await base({ embeddingModel: 'sim-slow-64--first-400' }, writer.session);
    await upload(writer.session, id, [['facts.txt', longText(60)]]);
    await eventually(
      () => attachmentsOf(admin, id),
      ([row]) => row?.status === 1,
      PARSING_MS,
    );
    await admin.put('/system/user/changeStatus', { userId: writer.id, status: '1' });
    const [row] = await settled(admin, id);
    expect(row).toMatchObject({ status: FAILED, remark: expect.stringContaining('no longer act') });
  });

  it('counts and removes vectors without a fragment', async () => {
    const id = await base();
    await upload(admin, id, [['facts.txt', longText(3)]]);
    const [row] = await settled(admin, id);
    const store = byTest(plinth.app.get(VectorStores).default());
    const signal = AbortSignal.timeout(10_000);
    const [fragment] = await fragmentsOf(admin, row?.docId ?? '');
    await plinth.app
      .get(Database)
      .query('DELETE FROM fragment WHERE tenant_id = $1 AND id = $2', [TENANT, fragment?.id]);
    expect(await vectors(id)).toBe(row?.fragmentCount);
    // Another database has the folder now: it may have the vectors, too.
    const mark = join(plinth.dataDir, 'installation.json');
    const own = readFileSync(mark, 'utf8');
    writeFileSync(mark, own.replace(/"installation":"[^"]*"/, `"installation":"${randomUUID()}"`));
    expect(await plinth.app.get(VectorReconciliation).reconcile()).toBe(0);
    writeFileSync(mark, own);
    expect(await plinth.app.get(VectorReconciliation).reconcile()).toBe(1);
    expect(await store.count({ tenantId: TENANT, knowledgeId: id }, undefined, signal)).toBe(
      (row?.fragmentCount ?? 0) - 1,
    );
    const { text } = await admin.raw('GET', '/metrics');
    expect(text).toMatch(/plinth_orphan_vectors 1\n/);
  });

  describe('with text recognition', () => {
    const chatCalls = () =>
      simulator.requests.filter(({ path }) => path.endsWith('/chat/completions'));
    const scan = (pages: number): Buffer => {
      const canvas = createCanvas(20, 30);
      const image = canvas.toBuffer('image/jpeg');
      return scannedPdf(Array.from({ length: pages }, () => ({ image, size: [20, 30] as const })));
    };
    const withVision = { enableOcr: 1, ocrModel: 'sim-vision' };

    it('reads scans and images by a model, and shows pages and tokens', async () => {
      const id = await base(withVision);
      const sign = createCanvas(64, 48).toBuffer('image/png');
      const { code, data } = await upload(admin, id, [
        ['scan.pdf', scan(2)],
        ['sign.png', sign],
      ]);
      expect([code, data.map(({ error }) => error)]).toEqual([200, [undefined, undefined]]);
      const attachmentId = data[0]?.id;
      expect(await admin.post(`/system/info/${id}/preview`, { attachmentId })).toMatchObject({
        code: 400,
        msg: expect.stringMatching(/text recognition would read \(2\).*Parse the document/),
      });
      const rows = await settled(admin, id);
      const found = new Map(rows.map((row) => [row.name, row]));
      expect(found.get('scan.pdf')).toMatchObject({ status: PARSED, ocrDone: 2, ocrTotal: 2 });
      expect(found.get('sign.png')).toMatchObject({ status: PARSED, ocrDone: 1, ocrTotal: 1 });
      for (const { inputTokens, outputTokens } of rows) {
        expect(Math.min(inputTokens, outputTokens)).toBeGreaterThan(0);
      }
      const [fragment] = await fragmentsOf(admin, found.get('sign.png')?.docId ?? '');
      expect(fragment?.content).toBe(
        'Page image\n\nAn image of type image/png.\n\nSide | Pixels\nWidth | 64\nHeight | 48',
      );
      expect(await rowsOf('model_answer', found.get('scan.pdf')?.id ?? 0)).toBe(0);
    });

    it('asks for no page twice when it is cancelled and parsed again', async () => {
      const id = await base(withVision);
      const match = { path: '/chat/completions' };
      simulator.script({ text: 'One page.', match }, { hold: true, match });
      await upload(admin, id, [['scan.pdf', scan(2)]]);
      const [running] = await eventually(
        () => attachmentsOf(admin, id),
        ([row]) => row?.ocrDone === 1 && chatCalls().length === 2,
        PARSING_MS,
      );
      expect(running).toMatchObject({ status: 1, ocrTotal: 2 });
      done(await admin.post(`/system/attach/${running?.id}/cancel`));
      await eventually(
        () => chatCalls().every(({ ended }) => ended !== 'open'),
        (ended) => ended,
        PARSING_MS,
      );
      simulator.reset();
      simulator.script({ text: 'The other page.', match });
      done(await admin.post(`/system/attach/parse/${running?.id}`));
      const [row] = await settled(admin, id);
      expect(row).toMatchObject({ status: PARSED, ocrDone: 2, ocrTotal: 2 });
      expect(chatCalls()).toHaveLength(1);
      const fragments = await fragmentsOf(admin, row?.docId ?? '');
      // Both are asked for at the same time, so either may be the one that was answered first.
      const texts = fragments.flatMap(({ content }) => content.split('\n\n'));
      expect(texts.toSorted()).toEqual(['One page.', 'The other page.']);
    });

    it('repeats a page that failed in a way that may pass, and fails for good with the reason', async () => {
      const id = await base(withVision);
      const match = { path: '/chat/completions' };
      simulator.script({ status: 500, match }, { text: 'At last.', match });
      await upload(admin, id, [['scan.pdf', scan(1)]]);
      expect((await settled(admin, id))[0]).toMatchObject({ status: PARSED, ocrDone: 1 });
      simulator.script({ length: true, match });
      const { data } = await upload(admin, id, [['cut.pdf', scan(3)]]);
      const cut = (await settled(admin, id)).find((row) => row.id === data[0]?.id);
      expect(cut).toMatchObject({ status: 3, fragmentCount: 0, ocrTotal: 3 });
      expect(cut?.remark).toMatch(/^The answer of the model sim-vision for page \d .* maxOutput/);
    });

    it('uses the program tesseract where no model is chosen', async () => {
      const id = await base({ enableOcr: 1 });
      await upload(admin, id, [['scan.pdf', scan(1)]]);
      const [row] = await settled(admin, id);
      expect(row).toMatchObject({ status: PARSED, ocrDone: 1, inputTokens: 0, outputTokens: 0 });
      const fragments = await fragmentsOf(admin, row?.docId ?? '');
      expect(fragments.map(({ content }) => content)).toEqual(['Read by tesseract.']);
    });

    it('is off by default: scans and images name the switch', async () => {
      const id = await base();
      const png = createCanvas(4, 4).toBuffer('image/png');
      const { data } = await upload(admin, id, [
        ['scan.pdf', scan(1)],
        ['sign.png', png],
      ]);
      expect(data[1]?.error).toMatch(/Switch it on \(enableOcr\)/);
      const [row] = await settled(admin, id);
      expect([row?.status, row?.remark]).toEqual([FAILED, expect.stringContaining('(enableOcr)')]);
      expect(chatCalls()).toEqual([]);
    });

    it('takes only models that see images', async () => {
      const name = 'Blind';
      const body = { name, embeddingModel: 'sim-embed-64', enableOcr: 1 };
      expect(await admin.post('/system/info', { ...body, ocrModel: 'sim-blind' })).toMatchObject({
        code: 400,
        msg: expect.stringMatching(/sim-blind does not read images.*supportsVision/),
      });
      expect((await admin.post('/system/info', { ...body, ocrModel: 'sim-none' })).code).toBe(400);
    });
  });

  describe('with context for fragments', () => {
    const match = { path: '/chat/completions' };
    const chatCalls = () =>
      simulator.requests.filter(({ path }) => path.endsWith('/chat/completions'));
    const text = '# Alpha\n\nFirst part.\n\n# Beta\n\nSecond part.';
    const small = { contextModel: 'sim-vision', textBlockSize: 25 };

    it('says the cost before, and embeds and finds the line without changing the text', async () => {
      const id = await base({ textBlockSize: 25 });
      const { data } = await upload(admin, id, [['terms.md', text]], false);
      const attachmentId = data[0]?.id ?? 0;
      const preview = async (body: object = {}) =>
        (await admin.post<object>(`/system/info/${id}/preview`, { attachmentId, ...body })).data;
      expect(await preview()).toMatchObject({ total: 2, contextCalls: null });
      const estimate = await preview({ contextModel: 'sim-vision' });
      expect(estimate).toMatchObject({ contextCalls: 2, contextOutputTokens: 120 });
      expect(chatCalls()).toEqual([]);
      done(await admin.put('/system/info', { id, ...small }));
      done(await admin.post(`/system/attach/parse/${attachmentId}`));
      const [row] = await settled(admin, id);
      expect(row).toMatchObject({ status: PARSED, contextDone: 2, progressTotal: 2 });
      expect(chatCalls()).toHaveLength(2);
      const { contextInputTokens } = estimate as { contextInputTokens: number };
      expect((row?.inputTokens ?? 0) / contextInputTokens).toBeCloseTo(1, 0);
      const fragments = await fragmentsOf(admin, row?.docId ?? '');
      expect(fragments.map(({ content, context }) => [content, context])).toEqual([
        ['# Alpha\n\nFirst part.', 'From terms.md, beginning with: # Alpha First part.'],
        ['# Beta\n\nSecond part.', 'From terms.md, beginning with: # Beta Second part.'],
      ]);
      expect(embedInputs().flat()[0]).toBe(
        'From terms.md, beginning with: # Alpha First part.\n\n# Alpha\n\nFirst part.',
      );
      const found = await plinth.app.get(Database).query<{ n: number }>(
        `SELECT count(*) AS n FROM fragment WHERE tenant_id = $1 AND knowledge_id = $2
          AND term_count > 6`,
        [TENANT, id],
      );
      expect(found).toEqual([{ n: 2 }]);
      expect(await rowsOf('model_answer', attachmentId)).toBe(0);
    });

    it('repeats what failed in a way that may pass, and fails whole with the reason', async () => {
      const id = await base(small);
      simulator.script({ status: 500, match });
      await upload(admin, id, [['good.md', text]]);
      expect((await settled(admin, id))[0]).toMatchObject({ status: PARSED, contextDone: 2 });
      simulator.script({ status: 400, match, times: 2 });
      const { data } = await upload(admin, id, [['bad.md', text.replace('Second', 'Other')]]);
      const bad = (await settled(admin, id)).find((row) => row.id === data[0]?.id);
      expect(bad).toMatchObject({ status: FAILED, fragmentCount: 0 });
      expect(bad?.remark).toMatch(/^The provider rejected the request \(400\)/);
      expect(await fragmentsOf(admin, bad?.docId ?? '')).toEqual([]);
      // Those of the attempt that succeeds now are paid once.
      simulator.reset();
      done(await admin.post(`/system/attach/parse/${bad?.id}`));
      expect((await settled(admin, id)).map(({ status }) => status)).toEqual([PARSED, PARSED]);
      expect(chatCalls()).toHaveLength(2);
    });

    it('takes only chat models', async () => {
      const answer = await admin.post('/system/info', { name: 'No', contextModel: 'sim-embed-64' });
      expect(answer).toMatchObject({ code: 400, msg: expect.stringMatching(/^contextModel: /) });
    });
  });

  /** How many rows the table has of a document. */
  const rowsOf = (table: string, attachmentId: number): Promise<number> =>
    plinth.app
      .get(Database)
      .query<{ n: number }>(
        `SELECT count(*) AS n FROM ${table} WHERE tenant_id = $1 AND attachment_id = $2`,
        [TENANT, attachmentId],
      )
      .then(([row]) => row?.n ?? -1);

  /** Whether no call of the embedding service is open any more. */
  function embedCallsSettled(): boolean {
    return simulator.requests.every(({ ended }) => ended !== 'open');
  }

  it('looks again for a file that it does not find, and names the process that stored it', async () => {
    const base = await createKnowledge(admin, {
      name: 'Elsewhere',
      embeddingModel: 'sim-embed-64',
    });
    const names = ['back.txt', 'lost.txt'];
    await upload(
      admin,
      base,
      names.map((name) => [name, `About ${name}.`] as const),
      false,
    );
    const database = plinth.app.get(Database);
    const files = await database.query<{ id: number; name: string; key: string }>(
      `SELECT a.id, a.name, f.storage_key AS key FROM attachment a
         JOIN stored_file f ON f.tenant_id = a.tenant_id AND f.id = a.oss_id
        WHERE a.tenant_id = $1 AND a.knowledge_id = $2`,
      [TENANT, base],
    );
    const places = new Map(
      files.map(({ name, key }) => [name, join(plinth.dataDir, 'files', key)] as const),
    );
    for (const path of places.values()) renameSync(path, `${path}.away`);
    for (const { id } of files) done(await admin.post(`/system/attach/parse/${id}`));
    // Their turn may come late: the hour begins when the file is looked for.
    await database.query(
      `UPDATE attachment SET requested_at = now() - interval '2 hours'
        WHERE tenant_id = $1 AND knowledge_id = $2`,
      [TENANT, base],
    );

    const who = new RegExp(
      `^The source file is not found: ${hostname()} \\(all, process ${process.pid}\\) stored it, `,
    );
    const waiting = await eventually(
      () => attachmentsOf(admin, base),
      (rows) => rows.every(({ waitingFor }) => who.test(waitingFor ?? '')),
    );
    expect(waiting.map(({ status }) => status)).toEqual([0, 0]);
    const attempts = await database.query(
      'SELECT DISTINCT attempts FROM attachment WHERE tenant_id = $1 AND knowledge_id = $2',
      [TENANT, base],
    );
    expect(attempts).toEqual([{ attempts: 0 }]);

    const back = places.get('back.txt') ?? '';
    renameSync(`${back}.away`, back);
    await database.query(
      `UPDATE attachment SET due_at = now(),
              awaited_since = CASE name WHEN 'lost.txt' THEN now() - interval '2 hours' ELSE awaited_since END
        WHERE tenant_id = $1 AND knowledge_id = $2`,
      [TENANT, base],
    );
    const rows = await settled(admin, base);
    const ended = new Map(rows.map(({ name, status, remark }) => [name, { status, remark }]));
    expect(ended.get('back.txt')).toEqual({ status: PARSED, remark: null });
    expect(ended.get('lost.txt')).toEqual({
      status: FAILED,
      remark: expect.stringMatching(
        /^The source file was not found for an hour: .* stored it, .* does not find it\. Ask the operator to check that both use the same DATA_DIR or STORAGE_URL, then parse the document again\.$/,
      ),
    });
  });
});
