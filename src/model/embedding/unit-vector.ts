import { UpstreamError } from '../../provider/index.js';

/** Scales a vector to length 1 (L2) in place. Throws UpstreamError for one of zeros, which has no direction. */
export function toUnitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) {
    throw new UpstreamError({
      kind: 'content',
      message:
        'The provider answered a vector of zeros, which cannot be compared with others. Check that modelName is the id of an embedding model.',
    });
  }
  const length = Math.sqrt(squares);
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) / length;
  return vector;
}
