import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import {
  attachmentsOf,
  createKnowledge,
  FAILED,
  settled,
  upload,
} from '../../support/knowledge.js';
import type { AttachmentRow } from '../../support/knowledge.js';
import { openLibrary, share } from '../../support/library.js';
import type { Library } from '../../support/library.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { literal, msg, sentences } from '../../../src/platform/message/index.js';
import type { Message } from '../../../src/platform/message/index.js';

/** A message as a value of SQL. */
function stored(message: Message): string {
  return `'${JSON.stringify(message)}'::jsonb`;
}

const TENANT = '000000';

const MISSING = {
  code: 404,
  msg: 'The document was not found. It may have been deleted.',
  data: null,
};
const MISSING_BASE = { ...MISSING, msg: MISSING.msg.replace('document', 'knowledge base') };
const MISSING_FILE = { ...MISSING, msg: MISSING.msg.replace('document', 'file') };
const READ_ONLY = {
  code: 403,
  msg: 'This knowledge base is shared with you for reading only. Ask its owner to change it.',
  data: null,
};

describe('attachments', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let library: Library;
  let owner: Session;
  let database: Database;
  let count = 0;
  let base: number;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    library = await openLibrary(plinth);
    owner = library.owner.session;
    database = plinth.app.get(Database);
    await createProvider(library.admin, 'custom_api');
    await createModel(library.admin, {
      modelName: 'sim-embed-16',
      category: 'vector',
      modelDimension: 16,
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key',
    });
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(async () => {
    base = await newBase();
  });

  function newBase(fields: object = {}, session = owner): Promise<number> {
    count += 1;
    return createKnowledge(session, { name: `Shelf ${count}`, ...fields });
  }

  /** A document that nobody parses. */
  async function document(name = 'note.txt', content = `Content ${(count += 1)}`): Promise<number> {
    const { data } = done(await upload(owner, base, [[name, content]], false));
    return data[0]?.id ?? 0;
  }

  async function row(id: number, session = owner): Promise<AttachmentRow> {
    return done(await session.get<AttachmentRow>(`/system/attach/${id}`)).data;
  }

  async function filesOnDisk(): Promise<number> {
    const folder = join(plinth.dataDir, 'files');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).length;
  }

  /** Changes rows as the passing of time and other processes do. */
  async function set(ids: readonly number[], change: string): Promise<void> {
    await database.query(
      `UPDATE attachment SET ${change} WHERE tenant_id = $1 AND id = ANY ($2::bigint[])`,
      [TENANT, ids],
    );
  }

  describe('the list', () => {
    it('filters by each field and shows only what may be read', async () => {
      const one = await document('Finch.md', 'about finches');
      const two = await document('heron.txt', 'about herons');
      await set([two], 'status = 3');
      const { docId } = await row(one);
      const { ossId } = (await row(two)) as AttachmentRow & { ossId: string };
      const ids = async (query: string, session = owner): Promise<number[]> =>
        done(await session.get<AttachmentRow[]>(`/system/attach/list?${query}`)).rows.map(
          ({ id }) => id,
        );

      expect(await ids(`knowledgeId=${base}`)).toEqual([two, one]);
      expect(await ids(`knowledgeId=${base}&name=FINCH`)).toEqual([one]);
      expect(await ids(`knowledgeId=${base}&type=.md`)).toEqual([one]);
      expect(await ids(`knowledgeId=${base}&status=3`)).toEqual([two]);
      expect(await ids(`docId=${docId}`)).toEqual([one]);
      expect(await ids(`ossId=${ossId}`)).toEqual([two]);
      expect(await ids(`knowledgeId=${base}`, library.admin)).toEqual([two, one]);
      expect(await ids('name=finch', library.other.session)).toEqual([]);
      expect(await ids(`knowledgeId=${base}`, library.stranger)).toEqual([]);
      await share(owner, base, 1);
      expect(await ids('name=finch', library.other.session)).toEqual([one]);
    });

    it('says what each document waits for', async () => {
      const [first, second, throttled, failed] = [
        await document(),
        await document(),
        await document(),
        await document(),
      ];
      const asked = 'parse_requested = true, requested_at = now(), due_at = now() + interval';
      await set([first], `${asked} '1 hour'`);
      await set([second], `${asked} '2 hours'`);
      await set(
        [throttled],
        `${asked} '3 hours', waiting_for = ${stored(literal('The provider asked to slow down.'))}`,
      );
      await set([failed], `status = ${FAILED}, failure = ${stored(literal('It holds no text.'))}`);

      expect(await row(first)).toMatchObject({ waitingFor: '0 documents are before it.' });
      expect(await row(second)).toMatchObject({
        waitingFor: '1 document is before it.',
        reason: '1 document is before it.',
      });
      expect(await row(throttled)).toMatchObject({
        waitingFor: 'The provider asked to slow down.',
      });
      expect(await row(failed)).toMatchObject({ waitingFor: null, reason: 'It holds no text.' });
      await set([first, second, throttled], 'parse_requested = false');
    });

    it('says so in the language of the reader, and leaves what was written by hand', async () => {
      const [failed, throttled, edited] = [await document(), await document(), await document()];
      const reason = 'The document holds no text. Upload one that does.';
      done(await owner.put('/system/attach', { id: failed, remark: 'Ours' }));
      await set(
        [failed],
        `status = ${FAILED}, failure = ${stored(msg`The document holds no text. Upload one that does.`)}`,
      );
      const waiting = sentences([
        msg`Attempt ${2} of ${3}.`,
        msg`The provider’s rate limit or quota is used up (429). Wait a moment, or raise the limit there.`,
      ]);
      await set(
        [throttled],
        `parse_requested = true, requested_at = now(), due_at = now() + interval '3 hours', waiting_for = ${stored(waiting)}`,
      );
      done(await owner.put('/system/attach', { id: edited, remark: reason }));

      const reader = owner.inLanguage('zh-CN');
      const chinese = '文档中没有文本。请上传包含文本的文档。';
      expect(await row(failed, reader)).toMatchObject({ remark: chinese, reason: chinese });
      expect(await row(failed)).toMatchObject({ remark: reason, reason });
      expect(await row(throttled, reader)).toMatchObject({
        waitingFor:
          '第 2 次尝试，共 3 次。供应商的速率限制或配额已用尽（429）。请稍候，或在供应商处提高限额。',
      });
      expect(await row(edited, reader)).toMatchObject({ remark: reason });
      // A form that sends back what it was shown changes nothing.
      done(await reader.put('/system/attach', { id: failed, name: 'Again', remark: chinese }));
      await set([failed], 'status = 2, failure = NULL');
      expect(await row(failed)).toMatchObject({ name: 'Again.txt', remark: 'Ours' });
      await set([throttled], 'parse_requested = false');
    });
  });

  describe('one document', () => {
    it('is renamed without becoming another kind of file', async () => {
      const id = await document('draft.md');
      done(await owner.put('/system/attach', { id, name: 'Terms 2025/2026', remark: 'checked' }));

      expect(await row(id)).toMatchObject({
        name: 'Terms 2025_2026.md',
        type: '.md',
        remark: 'checked',
      });
      done(await owner.put('/system/attach', { id, name: 'story.MD' }));
      expect(await row(id)).toMatchObject({ name: 'story.MD', remark: 'checked' });
      done(await owner.put('/system/attach', { id, remark: '' }));
      expect(await row(id)).toMatchObject({ name: 'story.MD', remark: '' });
      expect(await owner.put('/system/attach', { id, name: ' ' })).toMatchObject({
        code: 400,
        msg: 'name must not be empty.',
      });
    });

    it('gives its source back as a harmless attachment, with the token in the query too', async () => {
      const id = await document('page.html', '<script>alert(1)</script>');
      done(await owner.put('/system/attach', { id, name: 'new page.html' }));
      const token = encodeURIComponent(owner.headers['authorization'] ?? '');
      const query = `?clientid=${owner.headers['clientid']}&Authorization=${token}`;
      const { body, headers } = await request(`${plinth.url}/system/attach/${id}/content${query}`);

      expect(await body.text()).toBe('<script>alert(1)</script>');
      expect(headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'content-disposition': 'attachment; filename="new page.html"',
        'x-content-type-options': 'nosniff',
      });
    });

    it('has a file that follows its knowledge base through every interface', async () => {
      const id = await document('plan.txt', 'the plan');
      const { ossId } = (await row(id)) as AttachmentRow & { ossId: string };
      const { admin } = library;
      const reader = admin;
      const listed = await reader.get<unknown[]>(`/resource/oss/listByIds/${ossId}`);

      expect(listed.data).toMatchObject([{ ossId, fileName: 'plan.txt' }]);
      expect((await reader.raw('GET', `/resource/oss/download/${ossId}`)).text).toBe('the plan');
      expect(await reader.get('/resource/oss/list?pageSize=1000')).toMatchObject({
        rows: expect.not.arrayContaining([expect.objectContaining({ ossId })]),
      });
      expect(await reader.delete(`/resource/oss/${ossId}`)).toMatchObject({ code: 409 });
      const clerk = await colleague();
      expect(await clerk.get(`/resource/oss/download/${ossId}`)).toEqual(MISSING_FILE);
      expect((await clerk.get(`/resource/oss/listByIds/${ossId}`)).data).toEqual([]);
      expect(await clerk.delete(`/resource/oss/${ossId}`)).toEqual(MISSING_FILE);
      await share(owner, base, 1);
      expect((await clerk.raw('GET', `/resource/oss/download/${ossId}`)).text).toBe('the plan');
      expect(await clerk.delete(`/resource/oss/${ossId}`)).toMatchObject({ code: 409 });
    });

    /** An administrator of the tenant, who may use the file routes but is no super administrator. */
    async function colleague(): Promise<Session> {
      const { rows } = done(
        await library.admin.get<{ roleId: number; roleKey: string }[]>('/system/role/list'),
      );
      const role = rows.find(({ roleKey }) => roleKey === 'admin')?.roleId;
      const who = { userName: 'clerk', password: 'pass-word-1', roleIds: [role] };
      done(await library.admin.post('/system/user', who));
      return plinth.signIn('clerk', 'pass-word-1');
    }
  });

  describe('parsing', () => {
    it('is asked for, one by one or for a whole base, and told in counts', async () => {
      const waiting = [await document(), await document()];
      const running = await document();
      await set([running], 'status = 1');
      const all = await owner.post(`/system/attach/reparse/knowledge/${base}`);

      expect(all).toEqual({
        code: 200,
        msg: 'Done.',
        data: { submitted: 2, skipped: 1, total: 3 },
      });
      expect(await owner.post(`/system/attach/parse/${running}`)).toEqual({
        code: 200,
        msg: 'The document is being parsed already.',
        data: null,
      });
      await set([running], 'status = 2');
      // Without an embedding model every parsing ends as failed, with what to do.
      for (const one of await settled(owner, base)) {
        if (!waiting.includes(one.id)) continue;
        expect(one).toMatchObject({ status: FAILED, remark: expect.stringContaining('embedding') });
      }
    });

    it('is repeated for those that have failed alone', async () => {
      done(await owner.put('/system/info', { id: base, embeddingModel: 'sim-embed-16' }));
      const [parsed, failed] = [await document(), await document()];
      await set([parsed], 'status = 2');
      done(await owner.put('/system/attach', { id: failed, remark: 'Ours' }));
      await set([failed], `status = ${FAILED}, failure = ${stored(literal('No network.'))}`);
      const answer = await owner.post(`/system/attach/retry-failed/${base}`);

      expect(answer.data).toEqual({ submitted: 1, skipped: 0, total: 1 });
      expect((await settled(owner, base)).find(({ id }) => id === failed)).toMatchObject({
        status: 2,
        remark: 'Ours',
        fragmentCount: 1,
      });
    });

    it('fails with the reason that the embedding service gives', async () => {
      done(await owner.put('/system/info', { id: base, embeddingModel: 'sim-embed-16' }));
      const id = await document();
      // SiliconFlow, 2026-11
      const message = 'input must have less than 512 tokens';
      const body = JSON.stringify({ code: 20_015, message, data: null });
      simulator.script({ match: { path: '/embeddings' }, status: 413, body });
      done(await owner.post(`/system/attach/parse/${id}`));
      await settled(owner, base);
      expect(await row(id)).toMatchObject({
        status: FAILED,
        reason: expect.stringContaining(message),
      });
    });

    it('is called off while it waits, and cannot be called off when nobody asked for it', async () => {
      const id = await document();
      expect(await owner.post(`/system/attach/${id}/cancel`)).toEqual({
        code: 409,
        msg: 'The document is neither being parsed nor waiting to be parsed, so there is nothing to cancel.',
        data: null,
      });
      await set([id], "parse_requested = true, due_at = now() + interval '1 hour'");
      done(await owner.post(`/system/attach/${id}/cancel`));

      expect(await row(id)).toMatchObject({
        status: FAILED,
        remark: expect.stringContaining('cancelled'),
      });
    });
  });

  describe('who may', () => {
    type Ask = [method: string, path: (id: number) => string, body?: (id: number) => object];

    const reads: Ask[] = [
      ['GET', (id) => `/system/attach/${id}`],
      ['GET', (id) => `/system/attach/${id}/content`],
    ];
    const writes: Ask[] = [
      ['PUT', () => '/system/attach', (id) => ({ id, remark: 'mine' })],
      ['POST', (id) => `/system/attach/parse/${id}`],
      ['POST', (id) => `/system/attach/${id}/cancel`],
      ['DELETE', (id) => `/system/attach/${id}`],
    ];

    async function answers(asks: readonly Ask[], id: number, by: Session): Promise<object[]> {
      const found: object[] = [];
      for (const [method, path, body] of asks) {
        const { text } = await by.raw(method, path(id), body?.(id));
        found.push(text.startsWith('{') ? (JSON.parse(text) as object) : { code: 200 });
      }
      return found;
    }

    it('is the owner and the super administrator, where the base is not shared', async () => {
      const id = await document();
      const { admin, other, stranger } = library;

      for (const session of [other.session, stranger]) {
        const all = await answers([...reads, ...writes], id, session);
        expect(all).toEqual(all.map(() => MISSING));
        for (const path of ['reparse/knowledge', 'retry-failed']) {
          expect(await session.post(`/system/attach/${path}/${base}`)).toEqual(MISSING_BASE);
        }
      }
      expect(await answers(reads, id, admin)).toMatchObject(reads.map(() => ({ code: 200 })));
      done(await admin.put('/system/attach', { id, remark: 'by the admin' }));
      expect(await row(id)).toMatchObject({ remark: 'by the admin', status: 0 });
    });

    it('is everybody of the tenant for reading, where the base is shared', async () => {
      const id = await document();
      await share(owner, base, 1);
      const { other, stranger } = library;

      expect(await answers(reads, id, other.session)).toMatchObject(
        reads.map(() => ({ code: 200 })),
      );
      expect(await answers(writes, id, other.session)).toEqual(writes.map(() => READ_ONLY));
      for (const path of ['reparse/knowledge', 'retry-failed']) {
        expect(await other.session.post(`/system/attach/${path}/${base}`)).toEqual(READ_ONLY);
      }
      expect(await upload(other.session, base, [['a.txt', 'theirs']])).toEqual(READ_ONLY);
      const all = await answers([...reads, ...writes], id, stranger);
      expect(all).toEqual(all.map(() => MISSING));
      expect(await row(id)).toMatchObject({ remark: null, status: 0 });
    });
  });

  describe('a deletion', () => {
    /** How many rows of the base are left in the tables that hold what it has. */
    async function left(): Promise<number> {
      const [counted] = await database.query<{ count: number }>(
        `SELECT (SELECT count(*) FROM attachment WHERE knowledge_id = $1)
              + (SELECT count(*) FROM fragment WHERE knowledge_id = $1)
              + (SELECT count(*) FROM stored_file WHERE belongs_to = 'attachment'
                  AND NOT EXISTS (SELECT FROM attachment WHERE oss_id = stored_file.id)) AS count`,
        [base],
      );
      return counted?.count ?? -1;
    }

    it('leaves neither rows nor files, all of the documents or none', async () => {
      const before = await filesOnDisk();
      const ids = [await document(), await document()];
      const theirs = await newBase({}, library.other.session);
      const { data } = done(
        await upload(library.other.session, theirs, [['a.txt', 'theirs']], false),
      );

      expect(await owner.delete(`/system/attach/${ids[0]},${data[0]?.id}`)).toEqual(MISSING);
      expect(await owner.delete(`/system/attach/${ids[0]},987654321`)).toEqual(MISSING);
      expect(await attachmentsOf(owner, base)).toHaveLength(2);
      done(await owner.delete(`/system/attach/${ids.join()}`));
      expect(await left()).toBe(0);
      expect(await filesOnDisk()).toBe(before + 1);
      for (const id of ids) expect(await owner.get(`/system/attach/${id}`)).toEqual(MISSING);
      const { rows } = await library.admin.get<{ action: string }[]>(
        `/monitor/audit/list?targetType=attachment&targetId=${ids[0]}`,
      );
      expect(rows.map(({ action }) => action)).toEqual(['delete', 'upload']);
    });

    it('of the knowledge base leaves nothing of uploads that come at the same moment', async () => {
      const before = await filesOnDisk();
      await document();
      const uploads = Array.from({ length: 8 }, (_, n) =>
        upload(owner, base, [[`${n}.txt`, `raced ${n}`]], n % 2 === 0),
      );
      const [deleted, ...answers] = await Promise.all([
        owner.delete(`/system/info/${base}`),
        ...uploads,
      ]);

      expect(deleted.code).toBe(200);
      for (const { code } of answers) expect([200, 404]).toContain(code);
      expect(await left()).toBe(0);
      expect(await filesOnDisk()).toBe(before);
    });

    it('of the knowledge base takes everything along', async () => {
      const before = await filesOnDisk();
      const id = await document();
      await document();
      const { docId } = await row(id);
      done(await owner.post('/system/fragment', { docId, content: 'By hand.' }));
      done(await owner.delete(`/system/info/${base}`));

      expect(await left()).toBe(0);
      expect(await filesOnDisk()).toBe(before);
      expect(await owner.get(`/system/attach/${id}`)).toEqual(MISSING);
    });
  });
});
