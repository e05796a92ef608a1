import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import type { AdapterNames } from '../named-adapter.js';

/** The contract of an embedding model's adapter. It holds no state of any tenant. */
export interface EmbeddingAdapter extends AdapterNames {
  /** Most texts that the service takes in one call. */
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
}

export interface EmbeddingCall {
  readonly model: string;
  /** Between 1 and maxInputs texts, none empty. */
  readonly inputs: readonly string[];
  /** Asked for where the service can be asked and refuses what its model cannot do. The answer may have another number. */
  readonly dimensions?: number;
}

export interface EmbeddingAnswer {
  readonly vectors: readonly Float32Array[];
  readonly usage?: Usage;
}
