import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import { NotFoundError } from '../error/index.js';
import { FileStorage } from './file-storage.js';
import { Installation } from './installation.js';
import { StorageRepository } from './storage.repository.js';
import type { RecordedFile } from './storage.repository.js';

const BATCH = 200;
const FILES_AT_ONCE = 4;

/** What one run has done. */
export interface MoveResult {
  copied: number;
  copiedBytes: number;
  /** Files that an earlier run, or an upload, has put there. */
  there: number;
  /** Ids of files whose content the source has not, or not as its record says. */
  readonly lost: number[];
}

/**
 * Copies the contents of all recorded files from this process's storage to another one. A run copies what the other one
 * lacks, so it can be interrupted and repeated while files are uploaded. A copy is read back and compared with the SHA-256
 * of the record before it counts. The source keeps everything.
 */
@Injectable()
export class StorageMove {
  constructor(
    private readonly files: FileStorage,
    private readonly installation: Installation,
    private readonly repository: StorageRepository,
  ) {}

  /** `onProgress` is called after each batch. Ends early, with the work done so far, when the signal aborts. */
  async run(
    target: FileStorage,
    signal: AbortSignal,
    onProgress: (result: MoveResult) => void,
  ): Promise<MoveResult> {
    await this.installation.mark(target);
    const result: MoveResult = { copied: 0, copiedBytes: 0, there: 0, lost: [] };
    const queue = new PQueue({ concurrency: FILES_AT_ONCE });
    for (let lastId = 0; !signal.aborted;) {
      const batch = await this.repository.after(lastId, BATCH);
      const moved: number[] = [];
      const move = async (file: RecordedFile): Promise<void> => {
        if (signal.aborted) return;
        const outcome = await this.copy(file, target);
        if (outcome === 'lost') result.lost.push(file.id);
        else moved.push(file.id);
        if (outcome === 'there') result.there += 1;
        if (outcome !== 'copied') return;
        result.copied += 1;
        result.copiedBytes += file.byteSize;
      };
      await queue.addAll(batch.map((file) => () => move(file)));
      await this.repository.setService(moved, target.service);
      onProgress(result);
      const last = batch.at(-1);
      if (!last) return result;
      lastId = last.id;
    }
    return result;
  }

  private async copy(
    { storageKey, byteSize, sha256 }: RecordedFile,
    target: FileStorage,
  ): Promise<'copied' | 'there' | 'lost'> {
    // A file becomes visible as a whole, so one of this size is complete.
    if ((await target.sizeOf(storageKey)) === byteSize) return 'there';
    // A copy is not interrupted: it is complete or it is not there.
    const options = { limitBytes: byteSize, signal: new AbortController().signal };
    try {
      const written = await target.write(storageKey, await this.files.read(storageKey), options);
      const isSame = written.sha256 === sha256 && (await hashOf(storageKey, target)) === sha256;
      if (isSame) return 'copied';
    } catch (error) {
      if (error instanceof NotFoundError) return 'lost';
      throw error;
    }
    await target.remove(storageKey);
    return 'lost';
  }
}

async function hashOf(key: string, files: FileStorage): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(await files.read(key), hash);
  return hash.digest('hex');
}
