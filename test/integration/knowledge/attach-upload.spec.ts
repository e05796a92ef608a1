import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { docxOf, xlsxOf, zipOf } from '../../support/documents/office.js';
import { pptxOf } from '../../support/documents/presentation.js';
import {
  attachmentsOf,
  createKnowledge,
  PARSED,
  settled,
  upload,
} from '../../support/knowledge.js';
import type { AttachmentRow } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { openLibrary } from '../../support/library.js';
import type { Library } from '../../support/library.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';

const LIMIT_MB = 1;
const MODEL = 'sim-embed-64';
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

const MISSING_BASE = {
  code: 404,
  msg: 'The knowledge base was not found. It may have been deleted.',
  data: null,
};
const READ_ONLY = {
  code: 403,
  msg: 'This knowledge base is shared with you for reading only. Ask its owner to change it.',
  data: null,
};

describe('an upload to a knowledge base', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let library: Library;
  let owner: Session;
  let count = 0;
  let base: number;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start({ UPLOAD_LIMIT_MB: String(LIMIT_MB) });
    library = await openLibrary(plinth);
    owner = library.owner.session;
    const admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    await createModel(admin, {
      category: 'vector',
      modelName: MODEL,
      modelDimension: 64,
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

  async function filesOnDisk(): Promise<number> {
    const folder = join(plinth.dataDir, 'files');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).length;
  }

  /** Sends a form with the given fields and one file. */
  async function sendForm(fields: Record<string, string>, file = 'text'): Promise<Answer> {
    const form = new FormData();
    form.append('file', new Blob([file]), 'a.txt');
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return owner.upload('/system/attach/upload', form);
  }

  it('makes a document that waits to be asked for', async () => {
    const name = 'Größe 報告.TXT';
    const answer = await upload(owner, base, [[name, 'About birds.']], false);
    const { rows, total } = await owner.get<AttachmentRow[]>(
      `/system/attach/list?knowledgeId=${base}&pageSize=100`,
    );

    expect(answer).toEqual({
      code: 200,
      msg: 'Done.',
      data: [{ id: expect.any(Number), name, status: 0 }],
    });
    expect(total).toBe(1);
    expect((await owner.get(`/system/attach/${answer.data[0]?.id}`)).data).toEqual(rows[0]);
    expect(rows).toEqual([
      {
        id: answer.data[0]?.id,
        knowledgeId: base,
        docId: expect.stringMatching(/^[a-z0-9]{10}$/),
        name,
        type: '.txt',
        ossId: expect.stringMatching(/^\d+$/),
        byteSize: 12,
        file_hash: createHash('sha256').update('About birds.').digest('hex'),
        encoding: null,
        status: 0,
        parseRequested: false,
        remark: null,
        restricted: false,
        reason: 'Parsing has not been asked for.',
        waitingFor: 'Parsing has not been asked for.',
        fragmentCount: 0,
        metadata: {},
        progressDone: 0,
        progressTotal: null,
        ocrDone: 0,
        ocrTotal: null,
        contextDone: 0,
        inputTokens: 0,
        outputTokens: 0,
        createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        updateTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        parsedTime: null,
      },
    ]);
  });

  it('can be a text that was written in an editor', async () => {
    base = await newBase({ embeddingModel: MODEL });
    const form = { knowledgeId: String(base), name: 'Opening hours', type: 'txt', remark: 'Ours' };
    const content = '<h1>Hours</h1><p>The shop opens at nine.</p>';
    const answer = await owner.post<AttachmentRow>('/system/attach', { ...form, content });
    expect(answer).toMatchObject({
      code: 200,
      data: { name: 'Opening hours.html', type: '.html' },
    });
    expect(await settled(owner, base)).toMatchObject([{ id: answer.data.id, status: PARSED }]);
    expect((await owner.get(`/system/attach/${answer.data.id}`)).data).toMatchObject({
      knowledgeId: base,
      remark: 'Ours',
    });
    expect(await owner.post('/system/attach', { ...form, content })).toMatchObject({ code: 409 });
    for (const fields of [{}, { content: ' ' }]) {
      expect(await owner.post('/system/attach', { ...form, ...fields })).toMatchObject({
        code: 400,
        msg: 'content is required: the text of the document. A document that is a file begins with an upload.',
      });
    }
    expect(await library.other.session.post('/system/attach', { ...form, content })).toMatchObject({
      code: 404,
    });
  });

  it('says before what it takes', async () => {
    expect((await owner.get('/system/attach/limits')).data).toEqual({
      fileBytes: LIMIT_MB * 2 ** 20,
      filesPerRequest: 20,
    });
  });

  it('tells what became of each of several files, and keeps the good ones', async () => {
    const before = await filesOnDisk();
    const tooLarge = Buffer.alloc(LIMIT_MB * 2 ** 20 + 1, 65);
    const answer = await upload(
      owner,
      base,
      [
        ['one.txt', 'one'],
        ['large.txt', tooLarge],
        ['picture.txt', PNG],
        ['two.txt', 'two'],
        ['again.txt', 'one'],
      ],
      false,
    );
    const documents = await attachmentsOf(owner, base);

    expect(answer.code).toBe(400);
    expect(answer.msg).toMatch(/^3 of 5 files were not stored\. large\.txt: .*picture\.txt: /);
    expect(answer.data).toEqual([
      { id: expect.any(Number), name: 'one.txt', status: 0 },
      {
        name: 'large.txt',
        error: 'The file is larger than 1 MiB, which is the limit. Upload a smaller one.',
      },
      {
        name: 'picture.txt',
        error: expect.stringContaining(
          'Images are read only by text recognition (OCR), which is off',
        ),
      },
      { id: expect.any(Number), name: 'two.txt', status: 0 },
      { name: 'again.txt', error: expect.stringContaining('already uploaded') },
    ]);
    expect(documents.map(({ name }) => name).sort()).toEqual(['one.txt', 'two.txt']);
    expect(await filesOnDisk()).toBe(before + 2);
  });

  it('is refused alone with the reason as the message', async () => {
    const before = await filesOnDisk();
    const tooLarge = Buffer.alloc(LIMIT_MB * 2 ** 20 + 1, 65);

    expect(await upload(owner, base, [['large.txt', tooLarge]])).toMatchObject({
      code: 400,
      msg: 'The file is larger than 1 MiB, which is the limit. Upload a smaller one.',
      data: [{ name: 'large.txt' }],
    });
    expect(await upload(owner, base, [['bird.pdf', PNG]])).toMatchObject({
      code: 400,
      msg: expect.stringContaining('Images are read only by text recognition (OCR), which is off'),
    });
    expect(await attachmentsOf(owner, base)).toEqual([]);
    expect(await filesOnDisk()).toBe(before);
  });

  it('takes Office documents by what is inside, whatever their name, and no other archive', async () => {
    const word = docxOf([{ paragraph: 'About birds.' }]);
    const excel = xlsxOf([{ name: 'Birds', rows: [['Wren', 9]] }]);
    const archive = zipOf({ 'birds.txt': 'About birds.' });

    const taken = await upload(
      owner,
      base,
      [
        ['letter.bin', word],
        ['orders', excel],
      ],
      false,
    );
    expect(taken.data).toMatchObject([
      { name: 'letter.bin', status: 0 },
      { name: 'orders', status: 0 },
    ]);
    const slides = pptxOf([{ title: 'Birds' }]);
    const page = '<!doctype html><p>About birds.</p>';
    const mail = 'From: a@example.com\nSubject: Birds\nDate: today\n\nAbout birds.';
    const more: [string, string | Buffer][] = [
      ['slides', slides],
      ['page.html', page],
      ['mail.eml', mail],
    ];
    done(await upload(owner, base, more, false));
    expect(await upload(owner, base, [['archive.docx', archive]], false)).toMatchObject({
      code: 400,
      msg: expect.stringMatching(/^Archives are not supported\. Unpack it/),
    });
  });

  it('takes 20 files at once, and of more none, with the limit as the message', async () => {
    const before = await filesOnDisk();
    const files = Array.from({ length: 21 }, (_, n): [string, string] => [`${n}.txt`, `text ${n}`]);

    expect(await upload(owner, base, files, false)).toMatchObject({
      code: 400,
      msg: expect.stringMatching(/more files than one upload may have, which is 20/),
    });
    expect(await attachmentsOf(owner, base)).toEqual([]);
    expect(await filesOnDisk()).toBe(before);
    done(await upload(owner, base, files.slice(1), false));
    expect(await attachmentsOf(owner, base)).toHaveLength(20);
  });

  it('takes a file once per knowledge base, whatever its name, and again in another base', async () => {
    const before = await filesOnDisk();
    done(await upload(owner, base, [['one.txt', 'same']], false));
    const duplicate = await upload(owner, base, [['renamed.md', 'same']], false);

    expect(duplicate).toEqual({
      code: 409,
      msg: 'This file was already uploaded to the knowledge base as one.txt. Do not upload it twice; to read it again, parse the existing document.',
      data: [{ name: 'renamed.md', error: duplicate.msg }],
    });
    done(await upload(owner, await newBase(), [['one.txt', 'same']], false));
    done(await upload(owner, base, [['one.txt', 'other content']], false));
    expect(await filesOnDisk()).toBe(before + 3);
  });

  it('takes a file once when several uploads of it race, and leaves no other', async () => {
    const before = await filesOnDisk();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => upload(owner, base, [[`${n}.txt`, 'raced']], false)),
    );

    expect(answers.map(({ code }) => code).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    expect(await attachmentsOf(owner, base)).toHaveLength(1);
    expect(await filesOnDisk()).toBe(before + 1);
  });

  it('leaves no file when its knowledge base or its fields are wrong', async () => {
    const { other, stranger } = library;
    const theirs = await newBase({}, other.session);
    const shared = await newBase({ share: 1 }, other.session);
    const foreign = await newBase({}, stranger);
    const before = await filesOnDisk();
    const wrong: [Record<string, string>, object][] = [
      [{ knowledgeId: '987654321' }, MISSING_BASE],
      [{ knowledgeId: String(theirs) }, MISSING_BASE],
      [{ knowledgeId: String(foreign) }, MISSING_BASE],
      [{ knowledgeId: String(shared) }, READ_ONLY],
      [{}, { code: 400, msg: expect.stringContaining('knowledgeId') }],
      [{ knowledgeId: 'x' }, { code: 400, msg: expect.stringContaining('knowledgeId') }],
      [
        { knowledgeId: String(base), autoParse: 'perhaps' },
        { code: 400, msg: 'autoParse must be true or false' },
      ],
    ];
    for (const [fields, refusal] of wrong) {
      expect(await sendForm(fields)).toMatchObject(refusal);
    }

    expect(await filesOnDisk()).toBe(before);
    expect(await upload(owner, base, [])).toMatchObject({
      code: 400,
      msg: expect.stringContaining('it holds no file'),
    });
  });

  it('does not wait for parsing to be asked for without autoParse', async () => {
    done(await sendForm({ knowledgeId: String(base) }));

    expect(await attachmentsOf(owner, base)).toMatchObject([
      { status: 0, waitingFor: 'Parsing has not been asked for.' },
    ]);
  });
});
