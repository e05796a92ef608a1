import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../scripts/prepare.mjs';

export const embeddingsFolder =
  process.env.RETRIEVAL_EMBEDDINGS ?? join(root, 'data', 'retrieval-embeddings');

/**
 * The vectors of a test set as embed.py writes them: unit vectors of its documents and questions, by id; undefined where
 * there are none. Vectors of other texts than those of the test set are an error.
 */
export function readEmbeddings({ name, documents, queries }) {
  const head = join(embeddingsFolder, `${name}.json`);
  if (!existsSync(head)) return undefined;
  const { model, dimension, digest, ...ids } = JSON.parse(readFileSync(head, 'utf8'));
  const texts = [...documents, ...queries].map(({ text }) => text);
  if (createHash('sha256').update(texts.join('\0')).digest('hex') !== digest) {
    throw new Error(
      `${head} has the vectors of other texts. Run test/bench/retrieval/embed.py again.`,
    );
  }
  const bytes = readFileSync(join(embeddingsFolder, `${name}.f32`));
  const numbers = new Float32Array(new Uint8Array(bytes).buffer);
  const vectorAt = (at) => numbers.subarray(at * dimension, (at + 1) * dimension);
  return {
    model,
    documents: new Map(ids.documents.map((id, at) => [id, vectorAt(at)])),
    queries: new Map(ids.queries.map((id, at) => [id, vectorAt(ids.documents.length + at)])),
  };
}
