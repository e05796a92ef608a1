import { fileURLToPath } from 'node:url';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Piscina } from 'piscina';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { blobPath, blobRoot } from '../blob.path.js';
import type { KeptState } from '../net-change.js';
import type { Compared, CompareJob, SideTask } from './diff.worker.js';

const WORKER = fileURLToPath(new URL('./diff.worker.js', import.meta.url));
/** One that has had nothing to do for so long ends. */
const IDLE_MS = 60_000;
/** Files of one message to the thread: other requests come in between. */
const BATCH = 20;

/** Compares files on a thread of its own, a batch after the other, so that large diffs do not block the process. */
@Injectable()
export class DiffThread implements OnApplicationShutdown {
  private readonly logger = new Logger(DiffThread.name);
  private readonly blobRoot: string;
  private readonly stopping = new AbortController();
  private thread: Piscina | undefined;

  constructor(@Inject(CONFIG) config: Config) {
    this.blobRoot = blobRoot(config.DATA_DIR);
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.thread?.destroy();
  }

  /** A side whose content is kept; null where the file is not there. */
  keptSide(tenantId: string, state: KeptState | null, isKept: boolean): SideTask | null {
    if (!state) return null;
    const { mode, sha256 } = state;
    if (!isKept) return { mode };
    return { mode, kept: { path: blobPath(this.blobRoot, tenantId, sha256), sha256 } };
  }

  /** The comparisons in the order of the tasks; undefined for those that the deadline left out. */
  async compare({ tasks, totalBytes, ...limits }: CompareJob): Promise<(Compared | undefined)[]> {
    const compared: (Compared | undefined)[] = [];
    let room = totalBytes;
    for (let at = 0; at < tasks.length && Date.now() < limits.deadline; at += BATCH) {
      const batch = tasks.slice(at, at + BATCH);
      const found = await this.run({ ...limits, totalBytes: Math.max(0, room), tasks: batch });
      for (const one of found) room -= one ? Buffer.byteLength(one.diff) : 0;
      compared.push(...found);
    }
    return compared;
  }

  private async run(job: CompareJob): Promise<(Compared | undefined)[]> {
    this.thread ??= new Piscina({
      filename: WORKER,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
    });
    const { signal } = this.stopping;
    const found = (await this.thread.run(job, { name: 'compare', signal })) as (
      | Compared
      | undefined
    )[];
    for (const hash of found.flatMap((one) => one?.damaged ?? [])) {
      this.logger.error({ msg: 'Stored content is damaged', hash });
    }
    return found;
  }
}
