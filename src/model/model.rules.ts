import { Injectable } from '@nestjs/common';
import { InvalidInputError } from '../platform/error/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { ProviderService } from '../provider/index.js';
import { ModelAdapters } from './model.adapters.js';
import { storedCategory } from './model.category.js';

/** The fields of a model that depend on each other. */
interface CheckedFields {
  readonly providerCode: string;
  readonly category: string;
  readonly modelDimension?: number | null | undefined;
  readonly apiHost?: string | null | undefined;
}

/** What must be true of a model that is saved. Looks at the record alone and calls no other server. */
@Injectable()
export class ModelRules {
  constructor(
    private readonly providers: ProviderService,
    private readonly adapters: ModelAdapters,
    private readonly http: OutboundHttp,
  ) {}

  async requireProvider(tenantId: string, providerCode: string): Promise<void> {
    await this.providers.requireEnabled(tenantId, providerCode);
  }

  /** Throws the DomainError that says what has to be entered differently. */
  async check(tenantId: string, model: CheckedFields): Promise<void> {
    const { providerCode, category, modelDimension } = model;
    await this.requireProvider(tenantId, providerCode);
    if (category === 'vector' && !modelDimension) {
      throw new InvalidInputError(
        'modelDimension is required for a model of category vector: enter how many dimensions it really answers.',
      );
    }
    const apiHost = model.apiHost ?? '';
    if (apiHost !== '') this.checkAddress(apiHost, providerCode, category);
    else if (this.adapters.defaultAddress(storedCategory(category), providerCode) === undefined) {
      throw new InvalidInputError(
        'apiHost must not be empty. Enter the address of the service, for example https://api.example.com/v1.',
      );
    }
  }

  private checkAddress(apiHost: string, providerCode: string, category: string): void {
    this.adapters.find(storedCategory(category), providerCode)?.endpoint?.(apiHost);
    this.http.assertAddressAllowed(apiHost);
  }
}
