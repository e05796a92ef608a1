import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { TenantLifecycle } from '../../../src/platform/access/index.js';
import { loadConfig } from '../../../src/platform/config/index.js';
import { Database, SealedColumns } from '../../../src/platform/database/index.js';
import { signFile } from '../../../src/platform/storage/file-address.js';
import { OrphanSweep } from '../../../src/platform/storage/orphan-sweep.js';
import { done } from '../../support/people.js';
import { SigningKey } from '../../../src/platform/storage/signing-key.js';
import { SigningKeyRepository } from '../../../src/platform/storage/signing-key.repository.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';
import { SECRET_KEY } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

interface Upload {
  url: string;
  fileName: string;
  ossId: string;
}

interface FileView extends Upload {
  originalName: string;
  fileSuffix: string;
  mimeType: string;
  byteSize: number;
  createTime: string;
  createByName: string | null;
  service: string;
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const LIMIT_MB = 32;
const NEXT_KEY = 'next-secret-key-of-at-least-32-characters';

describe('files', () => {
  let plinth: Plinth;
  let admin: Session;
  let database: Database;

  beforeAll(async () => {
    plinth = await Plinth.start({ UPLOAD_LIMIT_MB: String(LIMIT_MB) });
    admin = await plinth.signIn();
    database = plinth.app.get(Database);
  });

  afterAll(async () => {
    await plinth.stop();
  });

  /** Sends a form; `parts` are [name of the part, content, file name]. */
  async function send(
    parts: readonly (readonly [string, Buffer, string])[],
    session = admin,
  ): Promise<Answer<Upload>> {
    const form = new FormData();
    for (const [part, content, name] of parts)
      form.append(part, new Blob([Uint8Array.from(content)]), name);
    return session.upload<Upload>('/resource/oss/upload', form);
  }

  async function uploaded(content: Buffer, name: string): Promise<Upload> {
    const { code, msg, data } = await send([['file', content, name]]);
    expect([code, msg]).toEqual([200, 'Done.']);
    return data;
  }

  async function download(
    id: string,
    query = '',
    headers: Record<string, string> = admin.headers,
  ): Promise<{ bytes: Buffer; headers: Record<string, unknown> }> {
    const response = await request(`${plinth.url}/resource/oss/download/${id}${query}`, {
      headers,
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    return { bytes, headers: response.headers };
  }

  async function view(id: string): Promise<FileView> {
    const { data } = await admin.get<FileView[]>(`/resource/oss/listByIds/${id}`);
    const [file] = data;
    if (!file) throw new Error(`There is no file ${id}.`);
    return file;
  }

  async function filesOnDisk(): Promise<string[]> {
    const entries = await readdir(join(plinth.dataDir, 'files'), {
      recursive: true,
      withFileTypes: true,
    }).catch(() => []);
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }

  it('stores an upload and describes it', async () => {
    const content = Buffer.concat([PNG, randomBytes(300_000)]);
    const upload = await uploaded(content, 'Größe 報告.PNG');
    expect(upload).toEqual({
      url: expect.stringMatching(
        `^${plinth.url}/resource/oss/shared/000000\\.${upload.ossId}\\.0\\.[\\w-]{43}/Gr%C3%B6%C3%9Fe%20%E5%A0%B1%E5%91%8A\\.PNG$`,
      ),
      fileName: 'Größe 報告.PNG',
      ossId: expect.stringMatching(/^\d+$/),
    });
    expect(await view(upload.ossId)).toMatchObject({
      ossId: upload.ossId,
      fileName: 'Größe 報告.PNG',
      originalName: 'Größe 報告.PNG',
      fileSuffix: '.png',
      url: upload.url,
      mimeType: 'image/png',
      byteSize: content.length,
      createByName: 'admin',
      service: 'local',
      createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
    const [row] = await database.query<{ sha256: string }>(
      "SELECT sha256 FROM stored_file WHERE tenant_id = '000000' AND id = $1",
      [Number(upload.ossId)],
    );
    expect(row?.sha256).toBe(createHash('sha256').update(content).digest('hex'));
  });

  it('gives the file back as a harmless attachment', async () => {
    const html = Buffer.from('<script>alert(1)</script>');
    const { ossId } = await uploaded(html, 'naïve "page".html');
    const { bytes, headers } = await download(ossId);
    expect(bytes.equals(html)).toBe(true);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(html.length),
      'content-disposition': `attachment; filename="na?ve _page_.html"; filename*=UTF-8''na%C3%AFve%20_page_.html`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
  });

  describe('at its address', () => {
    async function opened(
      url: string,
    ): Promise<{ text: string; headers: Record<string, unknown> }> {
      const response = await request(url);
      return { text: await response.body.text(), headers: response.headers };
    }

    async function codeAt(url: string): Promise<number> {
      const { text, headers } = await opened(url);
      expect(headers['content-type']).toMatch('application/json');
      return (JSON.parse(text) as Answer).code;
    }

    it('is an image that a page shows without a sign-in', async () => {
      const { url, ossId } = await uploaded(PNG, 'logo.png');
      const { headers } = await opened(url);
      expect(headers).toMatchObject({
        'content-type': 'image/png',
        'content-length': String(PNG.length),
        'content-disposition': 'inline',
        'content-security-policy': "sandbox; default-src 'none'",
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      });
      expect((await view(ossId)).url).toBe(url);
      const { rows } = await admin.get<FileView[]>('/resource/oss/list');
      expect(rows.find((row) => row.ossId === ossId)?.url).toBe(url);
    });

    it.each([
      ['vector.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'],
      ['page.png', '<!doctype html><script>1</script>'],
      ['report.pdf', '%PDF-1.7'],
    ])('is an attachment that expires unless it is an image: %s', async (name, content) => {
      const { url } = await uploaded(Buffer.from(content), name);
      const { text, headers } = await opened(url);
      expect(text).toBe(content);
      expect(headers).toMatchObject({
        'content-disposition': `attachment; filename=${name}`,
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-store',
      });
      const [, expires = ''] = /shared\/000000\.\d+\.(\d+)\./.exec(url) ?? [];
      const left = Number(expires) - Date.now() / 1_000;
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(3_600);
    });

    it('is not found for another file, tenant, expiry or signature, and after its deletion', async () => {
      const [own, other] = [await uploaded(PNG, 'own.png'), await uploaded(PNG, 'other.png')];
      const { url, ossId } = own;
      const changed = [
        url.replace(`.${ossId}.0.`, `.${other.ossId}.0.`),
        url.replace('/000000.', '/000001.'),
        url.replace(`.${ossId}.0.`, `.${ossId}.9999999999.`),
        url.replace(/[\w-]{43}\/own/, `${'A'.repeat(43)}/own`),
        url.replace(/\.[\w-]{43}\/own/, '/own'),
      ];
      for (const one of changed)
        expect([one, one !== url, await codeAt(one)]).toEqual([one, true, 404]);
      await admin.delete(`/resource/oss/${ossId}`);
      expect(await codeAt(url)).toBe(404);
    });

    it('says that it has expired', async () => {
      const { ossId } = await uploaded(Buffer.from('old'), 'old.txt');
      const key = await plinth.app.get(SigningKey).get();
      const token = signFile(key, { tenantId: '000000', fileId: Number(ossId), expires: 1 });
      expect(await plinth.anonymous().get(`/resource/oss/shared/${token}/old.txt`)).toEqual({
        code: 403,
        msg: 'The address of this file has expired. Open the file again from the list that names it.',
        data: null,
      });
    });

    it('stays valid when SECRET_KEY changes', async () => {
      const key = await plinth.app.get(SigningKey).get();
      const keyWith = async (environment: Record<string, string>): Promise<Buffer> => {
        const config = loadConfig(environment);
        const sealed = new SealedColumns(database, config);
        const signingKey = new SigningKey(new SigningKeyRepository(database), sealed, config);
        await sealed.renew();
        return signingKey.get();
      };
      const lost = await keyWith({ SECRET_KEY: NEXT_KEY });
      expect(lost).toHaveLength(32);
      expect(lost).not.toEqual(key);
      const changes: Record<string, string>[] = [
        { SECRET_KEY: NEXT_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY },
        { SECRET_KEY: NEXT_KEY },
        { SECRET_KEY, SECRET_KEY_PREVIOUS: NEXT_KEY },
        { SECRET_KEY },
      ];
      for (const environment of changes) expect(await keyWith(environment)).toEqual(key);
      const [row] = await database.query<{ sealed: string }>('SELECT sealed FROM signing_key');
      expect(row?.sealed).not.toContain(key.toString('base64url'));
    });

    it('has a short name where the encoded one would be long', async () => {
      const { url } = await uploaded(PNG, `${'報'.repeat(100)}.png`);
      expect(url).toMatch(/\/file\.png$/);
      expect((await opened(url)).headers['content-type']).toBe('image/png');
    });

    it('is not written to the log with its signature', async () => {
      const { url } = await uploaded(PNG, 'logged.png');
      await opened(url);
      const [, signature = ''] = /\.([\w-]{43})\//.exec(url) ?? [];
      await eventually(() => plinth.log.some((line) => line.includes('logged.png')), Boolean);
      expect(plinth.log.filter((line) => line.includes(signature))).toEqual([]);
    });
  });

  it('goes by the content, not by the claim of the sender', async () => {
    const { ossId } = await uploaded(Buffer.from('<svg onload="alert(1)"/>'), 'icon.png');
    expect((await view(ossId)).mimeType).toBe('text/plain; charset=utf-8');
  });

  it('accepts the token in the query for the download, and nowhere else', async () => {
    const { ossId } = await uploaded(Buffer.from('content'), 'a.txt');
    const token = encodeURIComponent(admin.headers['authorization'] ?? '');
    const query = `?clientid=${admin.headers['clientid']}&Authorization=${token}`;
    expect((await download(ossId, query, {})).bytes.toString()).toBe('content');
    const anonymous = plinth.anonymous();
    expect((await anonymous.get(`/resource/oss/listByIds/${ossId}${query}`)).code).toBe(401);
    expect((await anonymous.get(`/resource/oss/download/${ossId}`)).code).toBe(401);
  });

  it('accepts a file of exactly the limit and refuses one byte more, leaving nothing', async () => {
    const limit = LIMIT_MB * 2 ** 20;
    await uploaded(Buffer.alloc(limit, 65), 'full.bin');
    const before = await filesOnDisk();
    expect(await send([['file', Buffer.alloc(limit + 1, 65), 'over.bin']])).toEqual({
      code: 400,
      msg: 'The file is larger than 32 MiB, which is the limit. Upload a smaller one.',
      data: null,
    });
    expect(await filesOnDisk()).toEqual(before);
  });

  it('refuses what is not one file, and leaves nothing', async () => {
    const before = await filesOnDisk();
    const hint = 'Send multipart/form-data with a part named file.';
    const refused = async (answer: Promise<Answer>, reason: string): Promise<void> => {
      const msg = `The upload could not be read: ${reason}. ${hint}`;
      expect(await answer).toEqual({ code: 400, msg, data: null });
    };
    await refused(send([]), 'it contains no file');
    await refused(admin.post('/resource/oss/upload', { file: 'x' }), 'it contains no file');
    const twice = [
      ['file', Buffer.from('a'), 'a.txt'],
      ['file', Buffer.from('b'), 'b.txt'],
    ] as const;
    await refused(send(twice), 'it contains more than one file');
    const other = [
      ['file', Buffer.from('a'), 'a.txt'],
      ['other', Buffer.from('b'), 'b.txt'],
    ] as const;
    await refused(send(other), 'Unexpected file field - other');
    const mixed = await admin.raw('POST', '/resource/oss/upload', '--x--', {
      'content-type': 'multipart/mixed; boundary=x',
    });
    expect(JSON.parse(mixed.text)).toMatchObject({ code: 400 });
    expect(await filesOnDisk()).toEqual(before);
  });

  it('leaves nothing of an upload whose client goes away', async () => {
    const before = await filesOnDisk();
    const { port, hostname } = new URL(plinth.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    const head = `--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`;
    socket.write(
      `POST /resource/oss/upload HTTP/1.1\r\nHost: x\r\nauthorization: ${admin.headers['authorization']}\r\n` +
        `clientid: ${admin.headers['clientid']}\r\nContent-Type: multipart/form-data; boundary=x\r\n` +
        `Content-Length: 900000\r\n\r\n${head}${'a'.repeat(200_000)}`,
    );
    await eventually(filesOnDisk, ({ length }) => length > before.length);
    socket.destroy();
    await eventually(filesOnDisk, ({ length }) => length === before.length);
  });

  it('ends the reading when the client of a download goes away', async () => {
    // More than the buffers between server and client hold, so that the server is still reading.
    const content = Buffer.alloc(LIMIT_MB * 2 ** 20, 66);
    const { ossId } = await uploaded(content, 'big.bin');
    const leaving = new AbortController();
    const { body } = await request(`${plinth.url}/resource/oss/download/${ossId}`, {
      headers: admin.headers,
      signal: leaving.signal,
    });
    expect(openStoredFiles(plinth.dataDir)).toBe(1);
    leaving.abort();
    await expect(body.arrayBuffer()).rejects.toThrow();
    await eventually(
      () => openStoredFiles(plinth.dataDir),
      (open) => open === 0,
    );
    expect((await download(ossId)).bytes.equals(content)).toBe(true);
    await eventually(
      () => openStoredFiles(plinth.dataDir),
      (open) => open === 0,
    );
  });

  it('writes a file to the disk while it arrives', async () => {
    const before = await filesOnDisk();
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.from(
        '--x\r\nContent-Disposition: form-data; name="file"; filename="s.txt"\r\n\r\n',
      );
      yield Buffer.alloc(300_000, 67);
      await gate;
      yield Buffer.from('\r\n--x--\r\n');
    }
    const answer = request(`${plinth.url}/resource/oss/upload`, {
      method: 'POST',
      headers: { ...admin.headers, 'content-type': 'multipart/form-data; boundary=x' },
      body: Readable.from(body()),
    });
    await eventually(filesOnDisk, ({ length }) => length > before.length);
    release();
    const { data } = (await (await answer).body.json()) as Answer<Upload>;
    expect((await view(data.ossId)).byteSize).toBe(300_000);
  });

  it('lists by ids in the order asked for and leaves out what does not exist', async () => {
    const a = await uploaded(Buffer.from('a'), 'order-a.txt');
    const b = await uploaded(Buffer.from('b'), 'order-b.txt');
    const { data } = await admin.get<FileView[]>(
      `/resource/oss/listByIds/${b.ossId},99999999,${a.ossId}`,
    );
    expect(data.map((file) => file.fileName)).toEqual(['order-b.txt', 'order-a.txt']);
    const page = await admin.get<FileView[]>('/resource/oss/list?originalName=ORDER&pageSize=1');
    expect(page).toMatchObject({ code: 200, total: 2, rows: [{ fileName: 'order-b.txt' }] });
    expect(page).not.toHaveProperty('data');
    const ofType = async (mimeType: string): Promise<number | undefined> => {
      const query = `originalName=order-&mimeType=${encodeURIComponent(mimeType)}`;
      return (await admin.get<FileView[]>(`/resource/oss/list?${query}`)).total;
    };
    expect(await ofType('text/')).toBe(2);
    expect(await ofType('image/')).toBe(0);
    expect(await ofType('%')).toBe(0);
  });

  it('deletes record and file, all of the ids or none', async () => {
    const a = await uploaded(Buffer.from('a'), 'gone-a.txt');
    const b = await uploaded(Buffer.from('b'), 'gone-b.txt');
    const before = await filesOnDisk();
    expect((await admin.delete(`/resource/oss/${a.ossId},99999999`)).code).toBe(404);
    expect(await filesOnDisk()).toEqual(before);
    expect((await admin.delete(`/resource/oss/${a.ossId},${b.ossId}`)).code).toBe(200);
    expect(await filesOnDisk()).toHaveLength(before.length - 2);
    expect(await admin.get(`/resource/oss/download/${a.ossId}`)).toEqual({
      code: 404,
      msg: 'The file was not found. It may have been deleted.',
      data: null,
    });
    const { rows } = await admin.get<{ action: string; targetId: string }[]>(
      `/monitor/audit/list?targetType=file&targetId=${a.ossId}`,
    );
    expect(rows.map((entry) => entry.action)).toEqual(['delete', 'upload']);
  });

  it('answers files of another tenant like missing ones, and removes them with their tenant', async () => {
    await database.query("INSERT INTO tenant (tenant_id, company_name) VALUES ('700003', 'Other')");
    const { ossId } = await uploaded(Buffer.from('theirs'), 'theirs.txt');
    const before = await filesOnDisk();
    await database.query(
      "UPDATE stored_file SET tenant_id = '700003' WHERE tenant_id = '000000' AND id = $1",
      [Number(ossId)],
    );
    const missing = await admin.get('/resource/oss/download/99999999');
    expect(missing.code).toBe(404);
    expect(await admin.get(`/resource/oss/download/${ossId}`)).toEqual(missing);
    expect(await admin.delete(`/resource/oss/${ossId}`)).toEqual(missing);
    expect((await admin.get(`/resource/oss/listByIds/${ossId}`)).data).toEqual([]);
    const lifecycle = plinth.app.get(TenantLifecycle);
    const deleteTenant = (fails: boolean): Promise<void> =>
      database.transaction(async () => {
        await lifecycle.deleting('700003');
        await database.query("DELETE FROM tenant WHERE tenant_id = '700003'");
        if (fails) throw new Error('rolled back');
      });
    await expect(deleteTenant(true)).rejects.toThrow('rolled back');
    expect(await filesOnDisk()).toEqual(before);
    await deleteTenant(false);
    expect(await filesOnDisk()).toHaveLength(before.length - 1);
  });

  describe('without a record', () => {
    const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    let root: string;
    let prefix: string;

    beforeAll(async () => {
      root = join(plinth.dataDir, 'files');
      prefix = dirname(await keyOf(await uploaded(Buffer.from('first'), 'first.txt')));
    });

    async function keyOf({ ossId }: Upload): Promise<string> {
      const [row] = await database.query<{ storage_key: string }>(
        "SELECT storage_key FROM stored_file WHERE tenant_id = '000000' AND id = $1",
        [Number(ossId)],
      );
      return row?.storage_key ?? '';
    }

    async function write(path: string, hours: number): Promise<string> {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'x');
      await utimes(path, hoursAgo(hours), hoursAgo(hours));
      return path;
    }

    /** A record of a file that lies on the disk already. */
    async function record(key: string): Promise<string> {
      const [row] = await database.query<{ id: number }>(
        `INSERT INTO stored_file (tenant_id, storage_key, original_name, file_suffix, mime_type, byte_size, sha256, service)
         VALUES ('000000', $1, 'x', '', 'text/plain', 1, $2, 'local') RETURNING id`,
        [key, 'f'.repeat(64)],
      );
      return String(row?.id);
    }

    it('are set aside when they are old, and nothing else', async () => {
      const kept = await keyOf(await uploaded(Buffer.from('kept'), 'kept.txt'));
      const orphan = await write(join(root, prefix, 'a'.repeat(32)), 2);
      const young = await write(join(root, prefix, 'b'.repeat(32)), 0);
      const leftover = await write(join(root, 'unfinished', 'c'.repeat(32)), 2);
      await write(join(root, '00000000', 'd'.repeat(32)), 2);
      await utimes(join(root, kept), hoursAgo(2), hoursAgo(2));
      const before = await filesOnDisk();

      expect(await plinth.app.get(OrphanSweep).sweep()).toEqual({
        quarantined: 1,
        restored: 0,
        removed: 1,
      });

      const aside = join(root, 'quarantine', prefix, 'a'.repeat(32));
      const left = before.filter((path) => ![orphan, leftover].includes(path));
      expect((await filesOnDisk()).sort()).toEqual([...left, aside].sort());
      expect(await text(createReadStream(young))).toBe('x');
      expect(statSync(aside).mtime.getTime()).toBeGreaterThan(hoursAgo(1).getTime());
    });

    it('are put back when a record names them, by the sweep and by who reads them', async () => {
      const keys = ['1', '2'].map((digit) => `${prefix}/${digit.repeat(32)}`);
      for (const key of keys) await write(join(root, key), 2);
      const sweep = plinth.app.get(OrphanSweep);
      expect(await sweep.sweep()).toMatchObject({ quarantined: 2 });
      const [swept = '', read = ''] = keys;
      await record(swept);
      expect(await sweep.sweep()).toEqual({ quarantined: 0, restored: 1, removed: 0 });
      expect(existsSync(join(root, swept))).toBe(true);

      expect(existsSync(join(root, read))).toBe(false);
      expect((await download(await record(read))).bytes.toString()).toBe('x');
      expect(existsSync(join(root, 'quarantine', read))).toBe(false);
    });

    it('are removed after their time, and with their record', async () => {
      const [old = '', deleted = ''] = ['3', '4'].map((digit) => `${prefix}/${digit.repeat(32)}`);
      await write(join(root, 'quarantine', old), 15 * 24);
      await write(join(root, 'quarantine', `${prefix}/${'5'.repeat(32)}`), 13 * 24);
      await write(join(root, 'quarantine', deleted), 2);
      const id = await record(deleted);
      done(await admin.delete(`/resource/oss/${id}`));
      expect(existsSync(join(root, 'quarantine', deleted))).toBe(false);
      expect(await plinth.app.get(OrphanSweep).sweep()).toEqual({
        quarantined: 0,
        restored: 0,
        removed: 1,
      });
      expect(existsSync(join(root, 'quarantine', old))).toBe(false);
    });
  });
});

async function text(stream: Readable): Promise<string> {
  return Buffer.concat(await stream.toArray()).toString();
}

/** Stored files that this process, in which the server runs too, holds open; Linux only. */
function openStoredFiles(dataDir: string): number {
  const files = join(dataDir, 'files');
  return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(files)).length;
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

describe('the address of a file', () => {
  async function addressFor(
    environment: Record<string, string>,
    headers: Record<string, string>,
  ): Promise<string> {
    const plinth = await Plinth.start(environment);
    try {
      const admin = await plinth.signIn();
      const form = new FormData();
      form.append('file', new Blob([Uint8Array.from(PNG)]), 'logo.png');
      const { data } = await admin.upload<Upload>('/resource/oss/upload', form);
      const path = `/resource/oss/listByIds/${data.ossId}`;
      const { text } = await admin.raw('GET', path, undefined, headers);
      const [file] = (JSON.parse(text) as Answer<FileView[]>).data;
      return (file?.url ?? '').replace(plinth.url, 'http://plinth').replace(/shared.*/, '…');
    } finally {
      await plinth.stop();
    }
  }

  const forwarded = {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'ai.example.com',
    'x-forwarded-prefix': '/api',
  };

  it.each([
    ['that of the request', {}, forwarded, 'http://plinth/resource/oss/…'],
    [
      'what a trusted proxy reports',
      { TRUST_PROXY: '1' },
      forwarded,
      'https://ai.example.com/api/resource/oss/…',
    ],
    [
      'without a prefix of another form',
      { TRUST_PROXY: '1' },
      { ...forwarded, 'x-forwarded-prefix': '//evil.example' },
      'https://ai.example.com/resource/oss/…',
    ],
    [
      'PUBLIC_URL',
      { PUBLIC_URL: 'https://console.example.com/prod-api/', TRUST_PROXY: '1' },
      forwarded,
      'https://console.example.com/prod-api/resource/oss/…',
    ],
    ['relative for a host of another form', {}, { host: 'a"b' }, '/resource/oss/…'],
  ])('begins with %s', async (_, environment, headers, expected) => {
    expect(await addressFor(environment, headers)).toBe(expected);
  });
});
