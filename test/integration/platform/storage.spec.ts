import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { TenantLifecycle } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { OrphanSweep } from '../../../src/platform/storage/orphan-sweep.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';
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
      url: `/resource/oss/download/${upload.ossId}`,
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
