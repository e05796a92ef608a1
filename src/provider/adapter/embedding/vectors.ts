import { protocolError } from '../answer-failure.js';

/**
 * Vectors from parsed JSON, one a text. Throws UpstreamError (protocol) for another number of them, for vectors of
 * different lengths, and for values that are no finite numbers.
 */
export function toVectors(rows: readonly unknown[], texts: number): readonly Float32Array[] {
  if (rows.length !== texts) {
    throw protocolError(`The provider answered ${rows.length} vectors for ${texts} texts.`);
  }
  const vectors = rows.map((row) => toVector(row));
  const length = vectors[0]?.length ?? 0;
  if (length === 0) throw protocolError('The provider answered an empty vector.');
  if (vectors.some((vector) => vector.length !== length)) {
    throw protocolError('The provider answered vectors of different lengths.');
  }
  return vectors;
}

function toVector(row: unknown): Float32Array {
  if (!Array.isArray(row)) throw protocolError('The provider answered without vectors.');
  const vector = new Float32Array(row.length);
  for (let at = 0; at < row.length; at++) {
    const value: unknown = row[at];
    vector[at] = typeof value === 'number' ? value : NaN;
    // Also a number beyond what 32 bits hold.
    if (!Number.isFinite(vector[at])) {
      throw protocolError('The provider answered a vector with a value that is no finite number.');
    }
  }
  return vector;
}
