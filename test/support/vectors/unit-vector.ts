import { seededRandom } from '../seeded-random.js';

/** A vector of length 1 whose numbers follow from the seed alone. */
export function unitVector(dimension: number, seed: number): Float32Array {
  const random = seededRandom((seed * 2_654_435_761) >>> 0);
  const next = (): number => random() * 2 - 1;
  return normalised(Array.from({ length: dimension }, next));
}

export function normalised(numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers) || 1;
  return Float32Array.from(numbers, (number) => number / length);
}

export function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, at) => sum + number * (b[at] ?? 0), 0);
}
