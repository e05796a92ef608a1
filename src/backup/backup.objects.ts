import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { BackupCipher } from './backup.cipher.js';
import { BackupError, Encryption, Entry, Manifest, PATHS } from './backup.format.js';
import type { BackupPlace } from './backup.place.js';

/** Writes the objects of a backup, sealed where there is a key, and the list of them. */
export class BackupWriter {
  private readonly lines: string[] = [];
  private bytes = 0;

  private constructor(
    private readonly place: BackupPlace,
    private readonly cipher: BackupCipher | undefined,
  ) {}

  static async begin(place: BackupPlace, key: string | undefined): Promise<BackupWriter> {
    if (!(await place.isEmpty())) {
      throw new BackupError(`${place.name} is not empty. Name a new folder for each backup.`);
    }
    const cipher = key === undefined ? undefined : new BackupCipher(key);
    if (cipher) {
      const encryption = { format: 1, salt: cipher.salt.toString('base64') };
      await place.write(PATHS.encryption, textOf(encryption));
    }
    return new BackupWriter(place, cipher);
  }

  async add(path: string, content: AsyncIterable<Buffer>): Promise<void> {
    const entry = await this.write(path, content);
    this.bytes += entry.bytes;
    this.lines.push(`${JSON.stringify({ path, ...entry })}\n`);
  }

  /** Ends the backup: from here on it is complete. */
  async end(facts: Omit<Manifest, 'objects' | 'contents'>): Promise<BackupSize> {
    const contents = await this.write(PATHS.contents, Readable.from(buffers(this.lines)));
    const manifest: Manifest = { ...facts, objects: this.lines.length, contents };
    await this.write(PATHS.manifest, textOf(manifest));
    return { objects: this.lines.length, bytes: this.bytes };
  }

  private async write(path: string, content: AsyncIterable<Buffer>): Promise<Omit<Entry, 'path'>> {
    const counted = new Counted(content);
    await this.place.write(
      path,
      this.cipher ? this.cipher.seal(path, counted.read()) : counted.read(),
    );
    return counted.checksum();
  }
}

export interface BackupSize {
  readonly objects: number;
  readonly bytes: number;
}

/** Reads the objects of a complete backup. Each read ends in a BackupError where the content is not that of the list. */
export class BackupReader {
  private constructor(
    private readonly place: BackupPlace,
    private readonly cipher: BackupCipher | undefined,
    readonly manifest: Manifest,
  ) {}

  static async open(place: BackupPlace, key: string | undefined): Promise<BackupReader> {
    const encryption = await place.read(PATHS.encryption);
    const cipher = encryption && cipherOf(key, await textFrom(encryption), place);
    const content = await place.read(PATHS.manifest);
    if (!content) {
      throw new BackupError(
        `${place.name} is no complete backup: it has no ${PATHS.manifest}, which is written last.`,
      );
    }
    const text = await textFrom(cipher ? cipher.open(PATHS.manifest, content) : content);
    return new BackupReader(place, cipher, parsed(Manifest, text, PATHS.manifest));
  }

  /** The objects in the order in which they were written: the database first. */
  async *entries(): AsyncGenerator<Entry> {
    const { contents, objects } = this.manifest;
    let count = 0;
    let rest = '';
    for await (const chunk of this.read({ path: PATHS.contents, ...contents })) {
      // Paths are of ASCII, so that no character is divided.
      const lines = `${rest}${chunk.toString('latin1')}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield parsed(Entry, line, PATHS.contents);
      count += lines.length;
    }
    if (count !== objects) throw new BackupError(`${PATHS.contents} does not list every object.`);
  }

  async *read(entry: Entry): AsyncGenerator<Buffer> {
    const { path } = entry;
    const content = await this.place.read(path);
    if (!content) throw new BackupError(`${path} is missing in ${this.place.name}.`);
    const counted = new Counted(this.cipher ? this.cipher.open(path, content) : content);
    yield* counted.read();
    const { bytes, sha256 } = counted.checksum();
    if (bytes !== entry.bytes || sha256 !== entry.sha256) {
      throw new BackupError(`${path} was changed or cut off.`);
    }
  }
}

/** A content whose size and SHA-256 are known once it was read. */
class Counted {
  private readonly hash = createHash('sha256');
  private bytes = 0;

  constructor(private readonly content: AsyncIterable<Buffer>) {}

  async *read(): AsyncGenerator<Buffer> {
    for await (const chunk of this.content) {
      this.bytes += chunk.length;
      this.hash.update(chunk);
      yield chunk;
    }
  }

  checksum(): Omit<Entry, 'path'> {
    return { bytes: this.bytes, sha256: this.hash.digest('hex') };
  }
}

function cipherOf(key: string | undefined, text: string, place: BackupPlace): BackupCipher {
  if (key === undefined) {
    throw new BackupError(`${place.name} is encrypted. Set BACKUP_KEY to its key.`);
  }
  const { salt } = parsed(Encryption, text, PATHS.encryption);
  return new BackupCipher(key, Buffer.from(salt, 'base64'));
}

function parsed<T>(
  schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  text: string,
  path: string,
): T {
  const result = schema.safeParse(jsonOf(text));
  if (result.success) return result.data;
  throw new BackupError(`${path} is not that of a backup that this release can read.`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function textFrom(content: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function textOf(value: object): AsyncIterable<Buffer> {
  return Readable.from([Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)]);
}

function* buffers(lines: readonly string[]): Generator<Buffer> {
  for (const line of lines) yield Buffer.from(line);
}
