import { ConflictError, ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import { allOf, msg } from '../platform/message/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';
import { KNOWLEDGE_SETTINGS } from './knowledge.settings.js';

/** Whether the base holds the files of a chat session. */
export function isOfSession({ sessionId }: Pick<KnowledgeBase, 'sessionId'>): boolean {
  return sessionId !== null;
}

/** The overlap of a block size without a chosen one: 50, or half of a small one. */
export function defaultOverlap(textBlockSize: number): number {
  return Math.max(
    0,
    Math.min(KNOWLEDGE_SETTINGS.overlapChar.initial, Math.floor(textBlockSize / 2)),
  );
}

interface SplitValues {
  readonly textBlockSize: number;
  readonly overlapChar: number;
}

interface StoredSplitValues extends SplitValues {
  readonly overlapChosen: boolean;
}

/** An overlap of null takes back the choice of one. */
interface SentSplitValues {
  readonly textBlockSize?: number | undefined;
  readonly overlapChar?: number | null | undefined;
}

/**
 * The effective split settings of sent values over stored ones. An overlap that was chosen stays; without one, the default
 * follows the block size.
 */
export function splitSettings(
  requested: SentSplitValues,
  stored?: StoredSplitValues,
): StoredSplitValues {
  const textBlockSize =
    requested.textBlockSize ?? stored?.textBlockSize ?? KNOWLEDGE_SETTINGS.textBlockSize.initial;
  const storedOverlap = stored?.overlapChosen ? stored.overlapChar : null;
  const chosen = requested.overlapChar === undefined ? storedOverlap : requested.overlapChar;
  return {
    textBlockSize,
    overlapChar: chosen ?? defaultOverlap(textBlockSize),
    overlapChosen: chosen !== null,
  };
}

/** The rules of docs/WIRE.md (Knowledge bases). Throws BlockSizeError or OverlapError. */
export function requireSplitSettings({ textBlockSize, overlapChar }: SplitValues): void {
  if (textBlockSize <= 0) throw new BlockSizeError();
  if (overlapChar < 0 || overlapChar >= textBlockSize) throw new OverlapError();
}

class BlockSizeError extends InvalidInputError {
  constructor() {
    super(msg`textBlockSize must exceed 0.`);
  }
}

class OverlapError extends InvalidInputError {
  constructor() {
    super(msg`overlapChar must be 0 or more and smaller than textBlockSize.`);
  }
}

/** The tenant has no model of this name and category. */
export class UnknownModelError extends InvalidInputError {
  constructor(field: string, modelName: string, category: string) {
    super(
      msg`${field}: there is no model of category ${category} named ${modelName}. Choose a model from the list of models, or add it first.`,
      { data: { field, modelName, category } },
    );
  }
}

/** The model is not known to see images. */
export class NoVisionModelError extends InvalidInputError {
  constructor(modelName: string) {
    super(
      msg`ocrModel: the model ${modelName} does not read images. Choose a chat model with supportsVision, or set supportsVision of this one if it does.`,
      { data: { field: 'ocrModel', modelName } },
    );
  }
}

/** Stored vectors depend on these settings, so they cannot be changed without parsing again. */
export class ReindexNeededError extends ConflictError {
  constructor(fields: readonly string[]) {
    super(
      msg`The documents of this knowledge base are embedded with its current settings. To change ${allOf(fields)}, send reindex: true, which parses every document again.`,
      { data: { fields } },
    );
  }
}

export class SessionKnowledgeError extends ForbiddenError {
  constructor() {
    super(
      msg`This knowledge base holds the files of a chat session. Send files in the session to add to it; it is deleted with the session.`,
    );
  }
}

export class NoEmbeddingModelError extends InvalidInputError {
  constructor(name: string) {
    super(
      msg`The knowledge base ${name} has no embedding model. Choose a model of category vector in its settings, then parse its documents.`,
    );
  }
}
