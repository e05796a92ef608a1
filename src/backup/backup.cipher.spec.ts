import { describe, expect, it } from '@jest/globals';
import { BackupCipher } from './backup.cipher.js';

const CHUNK = 64 * 1024;
const SEALED_CHUNK = CHUNK + 16;
const HEADER = 32;

describe('BackupCipher', () => {
  const cipher = new BackupCipher('a key of the tests');

  async function bytesOf(content: AsyncIterable<Buffer>): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part);
    return Buffer.concat(parts);
  }

  /** In pieces of an odd length, as streams come. */
  async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
    await Promise.resolve();
    for (let at = 0; at < bytes.length; at += 50_001) yield bytes.subarray(at, at + 50_001);
  }

  const seal = (bytes: Buffer, path = 'a'): Promise<Buffer> =>
    bytesOf(cipher.seal(path, pieces(bytes)));
  const open = (sealed: Buffer, path = 'a'): Promise<Buffer> =>
    bytesOf(cipher.open(path, pieces(sealed)));

  it.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, 300_000])(
    'opens what it has sealed: %d bytes',
    async (length) => {
      const bytes = Buffer.alloc(length, 'content ');
      expect((await open(await seal(bytes))).equals(bytes)).toBe(true);
    },
  );

  it('refuses a content in the place of another, and one of another key', async () => {
    const sealed = await seal(Buffer.from('content'));
    await expect(open(sealed, 'b')).rejects.toThrow(/^b was changed or cut off/);
    const other = new BackupCipher('another key', cipher.salt);
    await expect(bytesOf(other.open('a', pieces(sealed)))).rejects.toThrow(/not the key/);
  });

  it('refuses chunks that were removed, exchanged, repeated, changed or added', async () => {
    const sealed = await seal(Buffer.alloc(3 * CHUNK, 'content '));
    const header = sealed.subarray(0, HEADER);
    const [one, two, three] = [0, 1, 2].map((number) =>
      sealed.subarray(HEADER + number * SEALED_CHUNK, HEADER + (number + 1) * SEALED_CHUNK),
    ) as [Buffer, Buffer, Buffer];
    const changed = Buffer.from(three);
    changed[0] = (changed[0] ?? 0) ^ 1;
    const forgeries = [
      [header],
      [header, one],
      [header, one, two],
      [header, one, three],
      [header, two, one, three],
      [header, one, one, two, three],
      [header, one, two, changed],
      [header, one, two, three, three],
      [header, one, two, three.subarray(0, -1)],
      [header.subarray(0, 10)],
      [],
    ];
    for (const parts of forgeries) await expect(open(Buffer.concat(parts))).rejects.toThrow();
    expect(await open(Buffer.concat([header, one, two, three]))).toHaveLength(3 * CHUNK);
  });
});
