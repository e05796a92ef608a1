import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { newId } from '../protocol/ids.js';
import type { HarnessArtifact, HarnessRun } from '../store/harness.entity.js';
import { ArtifactRepository } from '../store/artifact.repository.js';
import { BlobStore } from './blob.store.js';

const MIB = 1024 * 1024;

export interface NewArtifact {
  /** The tool call whose output it is; null for an image of the requirement. */
  readonly toolCallId: string | null;
  /** A word of at most 20 characters: what it is, such as `output` or `image`. */
  readonly kind: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** The wholes of which a model saw a part, kept for people and for later turns. */
@Injectable()
export class Artifacts {
  private readonly limitBytes: number;

  constructor(
    private readonly database: Database,
    private readonly repository: ArtifactRepository,
    private readonly blobs: BlobStore,
    @Inject(CONFIG) config: Config,
  ) {
    this.limitBytes = config.HARNESS_ARTIFACT_MB * MIB;
  }

  /**
   * Keeps an artifact of the run and answers its id; undefined when the run has no room left for it. The content is
   * on disk before the row is written: inside a transaction call `BlobStore.put` first, so that this finds it there.
   */
  async keep(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    { bytes, toolCallId, kind, mediaType }: NewArtifact,
  ): Promise<string | undefined> {
    const { tenantId, id: runId } = run;
    if (bytes.length > this.limitBytes) return undefined;
    const sha256 = await this.blobs.put(tenantId, bytes);
    const id = newId();
    return this.database.transaction(async () => {
      if (!(await this.repository.takeRoom(run, bytes.length, this.limitBytes))) return undefined;
      const byteSize = bytes.length;
      await this.repository.insert({
        ...{ id, tenantId, runId, toolCallId, kind, mediaType, byteSize, sha256 },
      });
      return id;
    });
  }

  /** Of the run, oldest first. */
  async ofRun({ tenantId, id }: Pick<HarnessRun, 'id' | 'tenantId'>): Promise<HarnessArtifact[]> {
    return this.repository.ofRun(tenantId, id);
  }

  /** One of the run's artifacts; its content is undefined when it was lost. Undefined when there is none. */
  async find(
    { tenantId, id: runId }: Pick<HarnessRun, 'id' | 'tenantId'>,
    id: string,
  ): Promise<{ artifact: HarnessArtifact; bytes: Buffer | undefined } | undefined> {
    const artifact = await this.repository.find(tenantId, runId, id);
    if (!artifact) return undefined;
    return { artifact, bytes: await this.blobs.get(tenantId, artifact.sha256) };
  }
}
