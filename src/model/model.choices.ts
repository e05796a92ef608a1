import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { Answer, OK_MESSAGE } from '../platform/http/index.js';
import { ProviderService } from '../provider/index.js';
import { ModelAdapters } from './model.adapters.js';
import type { ModelEntriesQuery } from './model.dto.js';
import { ModelRepository } from './model.repository.js';
import { toModelEntryView } from './model.view.js';
import type { ModelEntryView, ProviderOptionView } from './model.view.js';

/** What there is to choose from: models for end users, provider codes for administrators. */
@Injectable()
export class ModelChoices {
  constructor(
    private readonly models: ModelRepository,
    private readonly providers: ProviderService,
    private readonly adapters: ModelAdapters,
  ) {}

  /** The shown models of enabled providers, as `data` and, for other clients, as `rows` and `total`. */
  async entries(
    caller: Caller,
    query: ModelEntriesQuery,
  ): Promise<Answer<readonly ModelEntryView[]>> {
    const { tenantId } = caller;
    const codes = await this.providers.enabledCodes(tenantId);
    const category = query.category || 'chat';
    const page = await this.models.pageShown(tenantId, { ...query, category }, codes);
    const { rows, total } = page.map(toModelEntryView);
    return new Answer(rows, OK_MESSAGE, { rows, total });
  }

  /** Every code that has an adapter of some kind; those that can chat come first. */
  providerCodes(): ProviderOptionView[] {
    return [...this.adapters.byCode().values()].map(({ code, label, defaultAddress = null }) => ({
      label,
      value: code,
      defaultAddress,
    }));
  }
}
