import { isSuperAdmin } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { ConflictError, InvalidInputError } from '../platform/error/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

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
export class UnknownModelError extends InvalidInputError {
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
