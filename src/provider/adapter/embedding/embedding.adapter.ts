import { msg } from '../../../platform/message/index.js';
import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import type { OfferedModel } from '../model-list.js';
import type { AdapterNames } from '../named-adapter.js';
import { protocolError } from '../upstream.error.js';

/** The contract of an embedding model's adapter. It holds no state of any tenant. */
export interface EmbeddingAdapter extends AdapterNames {
  /** The maximum number of texts per call. */
  readonly maxInputs: number;

  /** The URL that would be called for a stored address. Pure; throws InvalidAddressError. */
  endpoint(address: string): string;

  /**
   * One vector a text, in the order of the texts, as the service answers them: not normalised. Fails with UpstreamError
   * (also when the answer holds another number of vectors, vectors of different lengths, or values that are no finite
   * numbers), ForbiddenAddressError or InvalidAddressError. The signal ends the call at once.
   */
  embed(
    call: EmbeddingCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<EmbeddingAnswer>;

  /** The models that the service offers, as its list names them; absent where the service has none. Fails like `embed`. */
  listModels?(
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<readonly OfferedModel[]>;
}

export interface EmbeddingCall {
  readonly model: string;
  /** The texts, 1 to maxInputs, none empty. */
  readonly inputs: readonly string[];
  /** The requested dimensions, sent where the service refuses what its model cannot do. The answer may have another number. */
  readonly dimensions?: number;
  /** Dimensions requested in place of `dimensions`, sent to every service. A service that refuses them fails the call. */
  readonly shortenedTo?: number;
}

export interface EmbeddingAnswer {
  readonly vectors: readonly Float32Array[];
  readonly usage?: Usage;
}

/**
 * Vectors from parsed JSON, one a text: lists of numbers, or base64. Throws UpstreamError (protocol) for another number of them, for vectors of
 * different lengths, and for values that are no finite numbers.
 */
export function toVectors(rows: readonly unknown[], texts: number): readonly Float32Array[] {
  if (rows.length !== texts) {
    throw protocolError(msg`The provider answered ${rows.length} vectors for ${texts} texts.`);
  }
  const vectors = rows.map((row) => toVector(row));
  const length = vectors[0]?.length ?? 0;
  if (length === 0) throw protocolError(msg`The provider answered an empty vector.`);
  if (vectors.some((vector) => vector.length !== length)) {
    throw protocolError(msg`The provider answered vectors of different lengths.`);
  }
  return vectors;
}

function toVector(row: unknown): Float32Array {
  if (typeof row === 'string') return decodedVector(row);
  if (!Array.isArray(row)) throw protocolError(msg`The provider answered without vectors.`);
  const vector = new Float32Array(row.length);
  for (let at = 0; at < row.length; at++) {
    const value: unknown = row[at];
    vector[at] = typeof value === 'number' ? value : NaN;
  }
  return finite(vector);
}

/** Base64 of 32-bit floats, little endian, as services answer that were asked for it, or that answer nothing else. */
function decodedVector(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const isWhole = bytes.length % FLOAT_BYTES === 0 && /^[\w+/-]+={0,2}$/.test(text);
  if (!isWhole) throw protocolError(msg`The provider answered without vectors.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const vector = new Float32Array(bytes.length / FLOAT_BYTES);
  for (let at = 0; at < vector.length; at++) vector[at] = view.getFloat32(at * FLOAT_BYTES, true);
  return finite(vector);
}

const FLOAT_BYTES = 4;

/** Checks a vector; numbers beyond 32 bits are refused as well. */
function finite(vector: Float32Array): Float32Array {
  for (const value of vector) {
    if (!Number.isFinite(value)) {
      throw protocolError(
        msg`The provider answered a vector with a value that is no finite number.`,
      );
    }
  }
  return vector;
}
