import { featuresOf } from '../answer/features.js';
import { hashText } from '../hash.js';

const DEFAULT_DIMENSIONS = 384;
const MAX_DIMENSIONS = 8192;

/**
 * A vector of unit length for a text: its weighted words and character bigrams, hashed. Texts that
 * share more of them have the higher cosine similarity; equal texts have equal vectors.
 */
export function embed(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const [feature, weight] of featuresOf(text)) {
    const hash = hashText(feature);
    const at = hash % dimensions;
    // Half of the features count negatively, so that collisions cancel out on average.
    const sign = hash & 0x40000000 ? 1 : -1;
    vector[at] = (vector[at] ?? 0) + sign * Math.sqrt(weight);
  }
  const length = Math.hypot(...vector);
  if (length > 0) return vector.map((value) => value / length);
  // A text without a single word still needs a vector of unit length.
  vector[hashText(text) % dimensions] = 1;
  return vector;
}

/** The requested dimensions, else those in the model name (`-256`), else the default. */
export function dimensionsFor(model: string, requestedDimensions: number | undefined): number {
  const [base = ''] = model.replace(/:[\w.]+$/, '').split('--');
  const named = /-(\d+)$/.exec(base)?.[1];
  const dimensions = requestedDimensions ?? Number(named ?? DEFAULT_DIMENSIONS);
  return Math.min(MAX_DIMENSIONS, Math.max(1, Math.trunc(dimensions)));
}
