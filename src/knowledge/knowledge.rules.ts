import { Injectable } from '@nestjs/common';
import { InvalidInputError } from '../platform/error/index.js';
import { ModelService } from '../model/index.js';
import { VectorStores } from '../vector-store/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';
import { UnknownModelError } from './knowledge.errors.js';
import type { KnowledgeValues } from './knowledge.repository.js';
import { requireSplitSettings } from './split-settings.js';

const DEFAULTS = { textBlockSize: 1_000, overlapChar: 50 };

/** The settings on which stored vectors depend. */
type IndexSetting = 'embeddingModel' | 'vectorModel';

/** The validity rules of a saved knowledge base. Reads records only and calls no other server. */
@Injectable()
export class KnowledgeRules {
  constructor(
    private readonly models: ModelService,
    private readonly stores: VectorStores,
  ) {}

  /**
   * Throws the DomainError that says what to correct; returns a notice about the vector store. Unchanged values are not
   * checked again, because their model may have been deleted since.
   */
  async check(
    tenantId: string,
    values: KnowledgeValues,
    before?: KnowledgeBase,
  ): Promise<string | undefined> {
    if (values.name?.trim() === '') throw new InvalidInputError('name must not be empty.');
    requireSplitSettings({
      textBlockSize: values.textBlockSize ?? before?.textBlockSize ?? DEFAULTS.textBlockSize,
      overlapChar: values.overlapChar ?? before?.overlapChar ?? DEFAULTS.overlapChar,
    });
    await this.requireModel(tenantId, 'embeddingModel', 'vector', { values, before });
    await this.requireModel(tenantId, 'rerankModel', 'rerank', { values, before });
    const { vectorModel = '' } = values;
    if (before && (values.vectorModel ?? before.vectorModel) === before.vectorModel) {
      return undefined;
    }
    return this.stores.check(vectorModel).notice;
  }

  /** The changed settings that make the stored vectors unusable. */
  changesNeedingReindex(before: KnowledgeBase, values: KnowledgeValues): IndexSetting[] {
    const { embeddingModel, vectorModel } = { ...before, ...values };
    const changes: [IndexSetting, boolean][] = [
      ['embeddingModel', embeddingModel !== before.embeddingModel],
      ['vectorModel', this.stores.of(vectorModel).code !== this.stores.of(before.vectorModel).code],
    ];
    return changes.filter(([, changed]) => changed).map(([setting]) => setting);
  }

  private async requireModel(
    tenantId: string,
    field: 'embeddingModel' | 'rerankModel',
    category: string,
    { values, before }: { values: KnowledgeValues; before: KnowledgeBase | undefined },
  ): Promise<void> {
    const modelName = values[field];
    if (!modelName || modelName === before?.[field]) return;
    if (await this.models.exists(tenantId, modelName, category)) return;
    throw new UnknownModelError(field, modelName, category);
  }
}
