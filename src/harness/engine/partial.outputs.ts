import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { blobRoot, tenantBlobs } from '../change/blob.path.js';
import { writeNew } from '../change/blob.store.js';
import type { OutputCollector } from '../sandbox/sandbox.run.js';
import type { HarnessEffect } from '../store/harness.entity.js';

/** How much of an output a crash may lose. */
const WRITE_EVERY_MS = 3_000;

type EffectKey = Pick<HarnessEffect, 'tenantId' | 'toolCallId'>;

/**
 * The output of running commands as files that outlive the process: the first 5 MiB, a few seconds old. A file that cannot
 * be written or read counts as missing: no command fails because of it.
 */
@Injectable()
export class PartialOutputs {
  private readonly logger = new Logger('Harness');
  private readonly root: string;

  constructor(@Inject(CONFIG) config: Config) {
    this.root = blobRoot(config.DATA_DIR);
  }

  /** For a command that begins. Everything passes `mask` before it is written. */
  begin(effect: EffectKey, mask: (bytes: Buffer) => Buffer): PartialOutput {
    return new PartialOutput(async (bytes) => {
      const path = this.pathOf(effect);
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        // Left by a lost process, or a link planted there.
        await rm(`${path}.new`, { force: true });
        await writeNew(`${path}.new`, mask(bytes));
        await rename(`${path}.new`, path);
      } catch (error) {
        const { toolCallId } = effect;
        this.logger.warn({ msg: 'Failed to write partial output', toolCallId, err: error });
      }
    });
  }

  /** The output written so far; undefined when there is none. */
  async read(effect: EffectKey): Promise<Buffer | undefined> {
    return readFile(this.pathOf(effect)).catch(() => undefined);
  }

  /** Call it once the output is stored elsewhere. */
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
  private output: OutputCollector | undefined;
  private isFull = false;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly write: (bytes: Buffer) => Promise<void>) {}

  /** There is more of the output. */
  readonly update = (output: OutputCollector): void => {
    if (this.isFull) return;
    this.output = output;
    this.isFull = output.discarding;
    this.timer ??= setTimeout(() => this.flush(), WRITE_EVERY_MS);
  };

  /** Writes the rest. */
  async end(): Promise<void> {
    if (this.timer) this.flush();
    await this.writing;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { output } = this;
    if (output) this.writing = this.writing.then(() => this.write(output.whole()));
  }
}
