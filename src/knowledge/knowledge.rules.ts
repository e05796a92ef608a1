import { Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { ConflictError, InvalidInputError } from '../platform/error/index.js';
import { ModelService } from '../model/index.js';
import { VectorStores } from '../vector-store/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';
import type { KnowledgeValues } from './knowledge.repository.js';

/** Who may read and change a knowledge base of the caller's tenant; the repository has the same rule in SQL. */
export function mayRead(caller: Caller, knowledge: KnowledgeBase): boolean {
  return mayWrite(caller, knowledge) || knowledge.share === 1;
}

export function mayWrite(caller: Caller, { userId }: KnowledgeBase): boolean {
  return isSuperAdmin(caller) || userId === caller.userId;
}

/** The rules of docs/WIRE.md (Knowledge bases). Throws BlockSizeError or OverlapError. */
export function requireSplitSettings({
  textBlockSize,
  overlapChar,
}: {
  readonly textBlockSize: number;
  readonly overlapChar: number;
}): void {
  if (textBlockSize <= 0) throw new BlockSizeError();
  if (overlapChar < 0 || overlapChar >= textBlockSize) throw new OverlapError();
}

class BlockSizeError extends InvalidInputError {
  constructor() {
    super('textBlockSize must exceed 0.');
  }
}

class OverlapError extends InvalidInputError {
  constructor() {
    super('overlapChar must be 0 or more and smaller than textBlockSize.');
  }
}

/** The tenant has no model of this name and category. */
class UnknownModelError extends InvalidInputError {
  constructor(field: string, modelName: string, category: string) {
    super(
      `${field}: there is no model of category ${category} named ${modelName}. Choose a model from the list of models, or add it first.`,
      { data: { field, modelName, category } },
    );
  }
}

/** Stored vectors depend on these settings, so they cannot be changed without parsing again. */
export class ReindexNeededError extends ConflictError {
  constructor(fields: readonly string[]) {
    super(
      `The documents of this knowledge base are embedded with its current settings. To change ${fields.join(' and ')}, send reindex: true, which parses every document again.`,
      { data: { fields } },
    );
  }
}

export class NoEmbeddingModelError extends InvalidInputError {
  constructor(name: string) {
    super(
      `The knowledge base ${name} has no embedding model. Choose a model of category vector in its settings, then parse its documents.`,
    );
  }
}

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
