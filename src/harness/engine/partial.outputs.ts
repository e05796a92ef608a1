import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { blobRoot, tenantBlobs } from '../change/blob.path.js';
import { writeNew } from '../change/blob.store.js';
import { OutputCollector } from '../sandbox/sandbox.run.js';
import type { HarnessEffect } from '../store/harness.entity.js';

/** How much of an output a crash may cost. */
const WRITE_EVERY_MS = 3_000;

type EffectKey = Pick<HarnessEffect, 'tenantId' | 'toolCallId'>;

/**
 * What running commands have written until now, as files that outlive the process: the first 5 MiB, a few seconds old. A
 * file that cannot be written or read is as if there were none: no command fails for it.
 */
@Injectable()
export class PartialOutputs {
  private readonly logger = new Logger('Harness');
  private readonly root: string;

  constructor(@Inject(CONFIG) config: Config) {
    this.root = blobRoot(config.DATA_DIR);
  }

  /** Of a command that begins. `mask` is given all that is written down. */
  begin(effect: EffectKey, mask: (bytes: Buffer) => Buffer): PartialOutput {
    return new PartialOutput(async (bytes) => {
      const path = this.pathOf(effect);
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        // What a lost process has left there, or a link that somebody has put there.
        await rm(`${path}.new`, { force: true });
        await writeNew(`${path}.new`, mask(bytes));
        await rename(`${path}.new`, path);
      } catch (error) {
        const { toolCallId } = effect;
        this.logger.warn({ msg: 'An output could not be kept meanwhile', toolCallId, err: error });
      }
    });
  }

  /** What was kept of a command; undefined when that is nothing. */
  async read(effect: EffectKey): Promise<Buffer | undefined> {
    return readFile(this.pathOf(effect)).catch(() => undefined);
  }

  /** Once it is stored elsewhere. */
  async remove(effect: EffectKey): Promise<void> {
    const path = this.pathOf(effect);
    for (const name of [path, `${path}.new`]) {
      await rm(name, { force: true }).catch(() => undefined);
    }
  }

  /** Among the contents of the tenant, so that they go with it. */
  private pathOf({ tenantId, toolCallId }: EffectKey): string {
    const folder = tenantBlobs(this.root, tenantId);
    if (folder === undefined) throw new Error('The id of a tenant must be a word.');
    return join(folder, 'running', toolCallId);
  }
}

/** The output of one command. */
export class PartialOutput {
  private readonly collector = new OutputCollector();
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly write: (bytes: Buffer) => Promise<void>) {}

  readonly add = (piece: Buffer): void => {
    const isFull = this.collector.discarding;
    this.collector.add(piece);
    if (!isFull) this.timer ??= setTimeout(() => this.flush(), WRITE_EVERY_MS);
  };

  /** Writes down what has come last. */
  async end(): Promise<void> {
    if (this.timer) this.flush();
    await this.writing;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing = this.writing.then(() => this.write(this.collector.whole()));
  }
}
