import { ConflictError, DomainError } from '../platform/error/index.js';

export class DuplicateProviderCodeError extends ConflictError {
  constructor(providerCode: string) {
    super(
      `The provider code ${providerCode} is configured already; do not configure it twice. Change the existing provider instead.`,
    );
  }
}

/** The provider of a model is missing, deleted or disabled, so that the model can be neither saved nor called. */
export class ProviderUnavailableError extends DomainError {
  readonly code = 400;

  constructor(readonly providerCode: string) {
    super(
      `The provider ${providerCode} does not exist or is not enabled. Enable the provider, or choose another one.`,
      { data: { providerCode } },
    );
  }
}
