import { Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { TenantLifecycle } from '../platform/access/index.js';
import { inTenant } from '../platform/database/index.js';
import { DictionaryRepository } from './dictionary.repository.js';

const FIRST_TENANT = '000000';

const MODEL_CATEGORIES = { dictName: 'Model categories', dictType: 'chat_model_category' };

/** The values that models store, in the order of docs/WIRE.md (Model categories). */
const categories = [
  { dictValue: 'chat', dictLabel: 'Chat' },
  { dictValue: 'vector', dictLabel: 'Embedding' },
  { dictValue: 'rerank', dictLabel: 'Reranking' },
  { dictValue: 'image', dictLabel: 'Image generation' },
  { dictValue: 'audio', dictLabel: 'Speech generation' },
  { dictValue: 'video', dictLabel: 'Video generation' },
].map((category, index) => ({ ...category, dictSort: index + 1 }));

/** Adds missing built-in entries to every new tenant, and to the first tenant at each start. */
@Injectable()
export class DictionarySeed implements OnApplicationBootstrap {
  constructor(
    private readonly dictionary: DictionaryRepository,
    lifecycle: TenantLifecycle,
  ) {
    // In the constructor, because the start-up hook of another feature may create the first tenant.
    lifecycle.join({ created: (tenantId) => this.seed(tenantId) });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.seed(FIRST_TENANT);
  }

  private seed(tenantId: string): Promise<void> {
    return inTenant(tenantId, () => this.dictionary.seed(tenantId, MODEL_CATEGORIES, categories));
  }
}
