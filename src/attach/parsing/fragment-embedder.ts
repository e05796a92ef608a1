import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inBatches, EmbeddingClient } from '../../model/index.js';
import type { ResolvedEmbeddingModel } from '../../model/index.js';
import { ParsingRepository } from './parsing.repository.js';
import type { Claim } from './parsing.repository.js';

/** Receives the progress of the embedding of one document. */
export interface EmbeddingWatch {
  /** How many texts have their vector. */
  readonly onProgress: (done: number) => void;
  /** The reason for waiting; undefined when it continues. */
  readonly onWait: (reason: string | undefined) => void;
}

interface Batch {
  readonly texts: readonly string[];
  readonly digest: string;
}

const FLOAT_BYTES = 4;

/** Embeds the fragments of a document batch by batch, and keeps each batch until the document is parsed. */
@Injectable()
export class FragmentEmbedder {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly embedder: EmbeddingClient,
    private readonly repository: ParsingRepository,
  ) {}

  /**
   * One vector a text, in their order. A batch that an earlier attempt has embedded is not sent again; after the first
   * batch that fails for good no other is begun.
   */
  async embed(
    claim: Claim,
    what: { readonly model: ResolvedEmbeddingModel; readonly texts: readonly string[] },
    how: EmbeddingWatch & { readonly signal: AbortSignal },
  ): Promise<Float32Array[]> {
    const { model, texts } = what;
    const batches = batchesOf(model, texts, this.embedder.batchSizeOf(model));
    const kept = await this.repository.embeddedBatches(claim.tenantId, claim.id);
    const failure = new AbortController();
    const signal = AbortSignal.any([how.signal, failure.signal]);
    let done = 0;
    const queue = new PQueue({ concurrency: this.config.EMBEDDING_CONCURRENCY });
    const embedOne = async ({ texts: inputs, digest }: Batch): Promise<Float32Array[]> => {
      signal.throwIfAborted();
      const earlier = kept.get(digest);
      const vectors = earlier
        ? unpacked(earlier, inputs.length)
        : await this.embedder.embed(model, inputs, {
            signal,
            purpose: 'document',
            onWait: how.onWait,
          });
      // A document of one batch has nothing to resume.
      if (!earlier && batches.length > 1) {
        await this.repository.keepBatch(claim, { digest, vectors: packed(vectors) });
      }
      done += inputs.length;
      how.onProgress(done);
      return vectors;
    };
    try {
      return (await Promise.all(batches.map((batch) => queue.add(() => embedOne(batch))))).flat();
    } catch (error) {
      queue.clear();
      failure.abort(error);
      await queue.onIdle();
      throw error;
    }
  }
}

function batchesOf(model: ResolvedEmbeddingModel, texts: readonly string[], size: number): Batch[] {
  return inBatches(texts, size).map((batch) => ({ texts: batch, digest: digestOf(model, batch) }));
}

/** Equal only for the same texts embedded by the same model at the same address. */
function digestOf(model: ResolvedEmbeddingModel, texts: readonly string[]): string {
  const { id, modelName, providerCode, modelDimension, connection } = model;
  const facts = [id, modelName, providerCode, modelDimension ?? '', connection.address];
  return createHash('sha256')
    .update(JSON.stringify([facts, texts]))
    .digest('hex');
}

function packed(vectors: readonly Float32Array[]): Buffer {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength),
    ),
  );
}

function unpacked(bytes: Buffer, count: number): Float32Array[] {
  // A copy, because a view of floats must begin at a multiple of four.
  const floats = new Float32Array(new Uint8Array(bytes).buffer);
  const dimension = bytes.length / FLOAT_BYTES / count;
  return Array.from({ length: count }, (_, index) =>
    floats.slice(index * dimension, (index + 1) * dimension),
  );
}
