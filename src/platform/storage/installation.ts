import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG, ConfigError } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Database } from '../database/index.js';
import { isMissing } from '../filesystem/index.js';
import { FileStorage } from './file-storage.js';
import { InstallationRepository } from './installation.repository.js';

/** The file in DATA_DIR, or the object in the object storage, that says which database the files belong to. */
const MARKER = 'installation.json';

const Marker = z.object({
  installation: z.uuid(),
  /** The largest id of a stored file that the database is known to have had. */
  newestFile: z.int().nonnegative(),
  /** The database was found to be older than the files. */
  restored: z.boolean(),
  /** A stored file of the database; marks of earlier releases have none. */
  knownFile: z.object({ id: z.int().positive(), key: z.string() }).optional(),
  /** Another database was found to store files in the same place. */
  shared: z.boolean().default(false),
});
type Marker = z.output<typeof Marker>;

/**
 * Whether the database and the file storage belong together. The database has an id, a mark in the storage repeats it, and
 * a process is not started where they differ. A copy of a database, one that is older than its files, and a physical clone that has
 * stored files as well are noticed: what they do not
 * know may be another database's, so nothing that no record names may be removed then (`uncertainty`).
 *
 * INSTALLATION_RENEW with the present id gives the database and the storage a new one, once.
 */
@Injectable()
export class Installation implements OnModuleInit {
  private readonly logger = new Logger('Installation');
  private readonly path: string;
  private joined: Promise<void> | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly repository: InstallationRepository,
    private readonly files: FileStorage,
  ) {
    this.path = join(config.DATA_DIR, MARKER);
  }

  async onModuleInit(): Promise<void> {
    await this.identity();
    const reason = await this.ownershipDoubt();
    if (reason !== undefined) {
      this.logger.warn({ msg: 'Files may belong to another database', reason });
    }
  }

  /** The id and the prefix of its collections in Qdrant. From the first call on, this process has its folder. */
  async identity(): Promise<{ readonly id: string; readonly vectorPrefix: string }> {
    // Processes run this one after the other, so that the first one decides whose the storage is. The lock is also held
    // while an object storage answers: its requests have time limits, and a start is rare.
    this.joined ??= this.database.transaction(() => this.join());
    await this.joined;
    return this.repository.find();
  }

  /**
   * Why files that no record names may not be removed: they may belong to another database, or a running backup reads
   * them. undefined when they may. Asked before each removal of such files, because another database may have been given the
   * folder meanwhile.
   */
  async uncertainty(): Promise<string | undefined> {
    if (await this.repository.backupRuns()) return 'A backup is running.';
    return this.ownershipDoubt();
  }

  /** Why files may belong to another database, and what to do; undefined when they cannot. */
  private async ownershipDoubt(): Promise<string | undefined> {
    const { id, database } = await this.repository.find();
    const marker = await this.read();
    if (marker?.installation !== id) {
      return `${this.setting} belongs to another installation now (${MARKER} does not name ${id}). Stop this process, or set ${this.setting} to the storage of this database.`;
    }
    if (database !== (await this.repository.presentDatabase())) {
      return `This database is a copy, and the database that it was copied from may use this ${this.setting}, too. If it does, give this one a ${this.setting} of its own. If this one has replaced it, ${this.renewal(id)}`;
    }
    const updatedMarker = await this.look(marker);
    if (!isDeepStrictEqual(updatedMarker, marker)) await this.write(updatedMarker);
    if (updatedMarker.shared) {
      return `Another database stores files in this ${this.setting}: a physical clone of this one, or an earlier state of it that was restored. Give each database a ${this.setting} of its own. If no other one is left, ${this.renewal(id)}`;
    }
    if (!updatedMarker.restored) return undefined;
    return `The database is older than the files in ${this.setting}: an earlier state of it was restored. Restore the newer one if there is one. If there is none, ${this.renewal(id)}`;
  }

  /**
   * The marker in its present state. A physical clone has the id and the server's identifier, too, but not the same random
   * keys for the files that it has stored since.
   */
  private async look(marker: Marker): Promise<Marker> {
    const newestFile = await this.repository.newestFile();
    const { knownFile } = marker;
    const key = knownFile && (await this.repository.keyOf(knownFile.id));
    const isOther = key !== undefined && key !== knownFile?.key;
    const restored = marker.restored || newestFile < marker.newestFile;
    const newest = await this.repository.newestRecord();
    const isNewer = newest !== undefined && newest.id > (knownFile?.id ?? 0);
    return {
      ...marker,
      newestFile: Math.max(newestFile, marker.newestFile),
      restored,
      // Records of a database that was restored have keys of their own, too.
      shared: marker.shared || (isOther && !restored),
      ...(isNewer && !isOther && { knownFile: { id: newest.id, key: newest.key } }),
    };
  }

  private async join(): Promise<void> {
    const { id, database } = await this.repository.lock();
    const present = await this.repository.presentDatabase();
    const marker = await this.read();
    if (this.config.INSTALLATION_RENEW === id) {
      const renewed = randomUUID();
      await this.take(renewed, present);
      this.logger.warn({ msg: 'Installation id renewed', from: id, to: renewed });
      return;
    }
    // The embedded database is in the folder itself, and a new release of it may have another identifier.
    if (this.config.embedded && (!this.files.objects || marker?.installation === id)) {
      if (marker?.installation !== id) await this.take(id, present, marker);
      else if (database !== present) await this.repository.save(id, present);
      return;
    }
    if (database === null) return this.joinFirst(id, present, marker);
    // The same id each time, so that a start which is interrupted is repeated.
    const copied = database === present ? undefined : derived(id, present);
    const isNamed = marker !== undefined && [id, copied].includes(marker.installation);
    if (copied !== undefined && (!marker || marker.installation === copied)) {
      // A copy with its own folder shares no files.
      return this.take(copied, present, marker);
    }
    if (!isNamed) throw new ConfigError(this.refusal(id, marker));
  }

  /** The first start of a database with an id: it takes a folder that belongs to none. */
  private async joinFirst(id: string, present: string, marker: Marker | undefined): Promise<void> {
    if (marker && marker.installation !== id) throw new ConfigError(this.refusal(id, marker));
    await this.take(id, present, marker);
  }

  private async take(id: string, present: string, marker?: Marker): Promise<void> {
    const newestFile = await this.repository.newestFile();
    const ownMarker = marker?.installation === id ? marker : undefined;
    await this.write({
      installation: id,
      newestFile,
      restored: false,
      shared: false,
      ...ownMarker,
    });
    await this.repository.save(id, present);
  }

  private refusal(id: string, marker: Marker | undefined): string {
    const { place } = this.files;
    if (!marker && this.files.objects) {
      return `The files of this database are not in ${place}: it lacks the object ${MARKER} with the id ${id}. If they are still in DATA_DIR, run: npm run storage:move -- --to s3. All processes of a database need the same STORAGE_URL. If this storage replaces a lost one, ${this.renewal(id)}`;
    }
    const replace = `If this folder replaces a lost one, ${this.renewal(id)}`;
    if (!marker) {
      return `The files of this database are not in ${place}: it lacks the file ${MARKER} with the id ${id}, which the folder of its other processes has. Set DATA_DIR to that folder; all processes of a database need the same one. ${replace}`;
    }
    return `${place} belongs to another installation: its ${MARKER} has the id ${marker.installation}, this database the id ${id}. Set ${this.setting} to the storage of this database, or to an empty one for a new database. If no other database uses it, ${this.renewal(id)}`;
  }

  private renewal(id: string): string {
    return `start once with INSTALLATION_RENEW=${id}.`;
  }

  private get setting(): 'DATA_DIR' | 'STORAGE_URL' {
    return this.files.objects ? 'STORAGE_URL' : 'DATA_DIR';
  }

  private async read(): Promise<Marker | undefined> {
    const text = await this.readText(this.files);
    if (text === undefined) return undefined;
    const read = Marker.safeParse(parsed(text));
    if (read.success) return read.data;
    throw new ConfigError(
      `${MARKER} in ${this.files.place} cannot be read as the mark of an installation. Restore it from a backup, or remove it and start once with INSTALLATION_RENEW set to the id in the table installation.`,
    );
  }

  /** Gives a storage that the files are moved to the mark of this one. ConfigError where it belongs to another database. */
  async mark(target: FileStorage): Promise<void> {
    const { installation } = { ...(await this.read()) };
    const text = await this.readText(target);
    const targetMark = text === undefined ? undefined : Marker.safeParse(parsed(text)).data;
    if (text !== undefined && targetMark?.installation !== installation) {
      throw new ConfigError(
        `${target.place} has the ${MARKER} of another installation. Choose an empty place for the files of this one.`,
      );
    }
    if (text === undefined) await this.write(Marker.parse(await this.read()), target);
  }

  private async readText({ objects }: FileStorage): Promise<string | undefined> {
    if (objects) return (await objects.get(MARKER))?.toString();
    try {
      return await readFile(this.path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Writes the marker as a whole or not at all. */
  private async write(marker: Marker, { objects } = this.files): Promise<void> {
    if (objects) return objects.put(MARKER, Buffer.from(`${JSON.stringify(marker)}\n`));
    const unfinished = `${this.path}.${randomBytes(8).toString('hex')}`;
    await mkdir(this.config.DATA_DIR, { recursive: true, mode: 0o700 });
    try {
      await writeFile(unfinished, `${JSON.stringify(marker)}\n`, { mode: 0o600, flush: true });
      await rename(unfinished, this.path);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A UUID (RFC 9562, version 8) that is derived from both. */
function derived(id: string, database: string): string {
  const hex = createHash('sha256').update(`${id} ${database}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
