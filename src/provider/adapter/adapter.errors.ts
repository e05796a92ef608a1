import { DomainError } from '../../platform/error/index.js';

/** A call to a provider whose code has no adapter of the kind needed. */
export class UnsupportedProviderError extends DomainError {
  readonly code = 500;

  /** `reason` is a sentence on why this code can have none, where there is more to say than that it is unknown. */
  constructor(providerCode: string, known: readonly string[], reason?: string) {
    super(
      `Unsupported model category: ${providerCode}. ${reason === undefined ? '' : `${reason} `}Choose a provider with one of these codes: ${known.join(', ')}.`,
      { data: { known } },
    );
  }
}

/** A service address that cannot be used as entered. */
export class InvalidAddressError extends DomainError {
  readonly code = 400;
}
