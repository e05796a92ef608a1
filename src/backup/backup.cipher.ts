import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scryptSync } from 'node:crypto';
import { BackupError } from './backup.format.js';

const CIPHER = 'aes-256-gcm';
const MAGIC = Buffer.from('plinth-backup-1\n');
const SALT_BYTES = 16;
const HEADER_BYTES = MAGIC.length + SALT_BYTES;
const TAG_BYTES = 16;
const CHUNK_BYTES = 64 * 1024;

/** Cost of deriving a key (scrypt, RFC 7914): 128 MiB and about half a second for each backup, also for one who guesses. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 2 ** 20 };

/**
 * Encrypts the objects of one backup. Each object has a key of its own, derived from the operator's key, a salt and its path, so
 * that objects cannot change places. Its content is sealed in chunks of 64 KiB whose nonces count and mark the last one (the
 * STREAM construction, as in age): a removed, repeated, reordered or cut-off chunk is refused.
 */
export class BackupCipher {
  private readonly master: Buffer;

  constructor(
    operatorKey: string,
    /** Random for each backup, stored beside it. */
    readonly salt = randomBytes(SALT_BYTES),
  ) {
    this.master = scryptSync(operatorKey, salt, 32, SCRYPT);
  }

  async *seal(path: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const salt = randomBytes(SALT_BYTES);
    const key = this.keyOf(path, salt);
    yield Buffer.concat([MAGIC, salt]);
    let number = 0;
    for await (const { bytes, isLast } of chunks(content, CHUNK_BYTES)) {
      const cipher = createCipheriv(CIPHER, key, nonce(number, isLast), {
        authTagLength: TAG_BYTES,
      });
      yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
      number += 1;
    }
  }

  /** The content. BackupError where it was changed, cut off or sealed with another key; what came before is intact. */
  async *open(path: string, sealed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let key: Buffer | undefined;
    let number = 0;
    for await (const { bytes, isLast } of chunks(sealed, CHUNK_BYTES + TAG_BYTES, HEADER_BYTES)) {
      if (!key) {
        if (isLast || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
          throw new ChangedObjectError(path);
        }
        key = this.keyOf(path, bytes.subarray(MAGIC.length));
        continue;
      }
      if (bytes.length < TAG_BYTES) throw new ChangedObjectError(path);
      const decipher = createDecipheriv(CIPHER, key, nonce(number, isLast), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const content = decipher.update(bytes.subarray(0, -TAG_BYTES));
      try {
        decipher.final();
      } catch {
        throw new ChangedObjectError(path);
      }
      yield content;
      number += 1;
    }
  }

  private keyOf(path: string, salt: Buffer): Buffer {
    return Buffer.from(hkdfSync('sha256', this.master, salt, `plinth backup ${path}`, 32));
  }
}

class ChangedObjectError extends BackupError {
  constructor(path: string) {
    super(`${path} was changed or cut off, or BACKUP_KEY is not the key of this backup.`);
  }
}

/** 11 bytes that count the chunks, and one that marks the last of them. */
function nonce(number: number, isLast: boolean): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUIntBE(number, 5, 6);
  bytes[11] = isLast ? 1 : 0;
  return bytes;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** The content in chunks of the size, the first one of another; the last one, which may be shorter or empty, is marked. */
async function* chunks(
  content: AsyncIterable<Buffer>,
  size: number,
  firstSize = size,
): AsyncGenerator<Chunk> {
  let parts: Buffer[] = [];
  let length = 0;
  let next = firstSize;
  for await (const part of content) {
    parts.push(part);
    length += part.length;
    if (length <= next) continue;
    let bytes = Buffer.concat(parts);
    // One byte more than a chunk shows that it is not the last.
    while (bytes.length > next) {
      yield { bytes: bytes.subarray(0, next), isLast: false };
      bytes = bytes.subarray(next);
      next = size;
    }
    parts = [bytes];
    length = bytes.length;
  }
  yield { bytes: Buffer.concat(parts), isLast: true };
}
