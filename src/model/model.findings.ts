import { Injectable, Logger } from '@nestjs/common';
import { TenantRevision } from '../platform/access/index.js';
import { Database } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import {
  FILLED_IN,
  NOT_OPENED,
  OPENED_FINDING,
  RERANK_DIALECT,
  UpstreamError,
} from '../provider/index.js';
import type { Findings, FindingValue, ModelConnection } from '../provider/index.js';
import { ModelRepository } from './model.repository.js';
import type { ResolvedModel } from './model.resolver.js';

/** The bound exceeds the number of parameters of a service. */
const MAX_FINDINGS = 100;

const NONE: Findings = new Map();

/** Findings since a model was resolved. Its copies share the connection. */
const LEARNED = new WeakMap<ModelConnection, Map<string, FindingValue>>();

/** All findings about the service of a model. */
export function findingsOf({ connection, findings = NONE }: ResolvedModel): Findings {
  return LEARNED.get(connection) ?? findings;
}

/** Adds findings for all calls of the resolved model in this process. */
export function addFindings(model: ResolvedModel, learned: Findings): void {
  LEARNED.set(model.connection, new Map([...findingsOf(model), ...learned]));
}

/**
 * Findings of calls about the service of a model, stored with its record: parameters that the service refuses, and its
 * limits. A change of the model's provider, category, name or address erases it.
 */
@Injectable()
export class ModelFindings {
  private readonly logger = new Logger(ModelFindings.name);

  constructor(
    private readonly models: ModelRepository,
    private readonly revision: TenantRevision,
    private readonly database: Database,
  ) {}

  /** A limit that was learned; undefined where none was. */
  limitOf(model: ResolvedModel, name: 'maxInputs'): number | undefined {
    const limit = findingsOf(model).get(name);
    return typeof limit === 'number' ? limit : undefined;
  }

  /**
   * Adds findings to the model's record. This process sees them at once, others with the next resolution of the model.
   * Never fails: what cannot be stored is learned again.
   */
  async keep(model: ResolvedModel, learned: Findings): Promise<void> {
    const { tenantId, id } = model;
    if (findingsOf(model).size >= MAX_FINDINGS) return;
    addFindings(model, learned);
    try {
      await this.database.transaction(async () => {
        const isNew = await this.models.addFindings(model, Object.fromEntries(learned));
        if (isNew) await this.revision.increment(tenantId);
      });
    } catch (error) {
      this.logger.warn({ msg: 'Failed to store findings', tenantId, model: id, err: error });
    }
  }
}

/** A finding in words for the administrator of the model. */
export function describeFinding(name: string, value: FindingValue): Message {
  if (typeof value === 'number') {
    return name === 'maxInputs'
      ? msg`A call has at most ${value} texts: the service refuses more.`
      : msg`${name} is at most ${value}: the service refuses more.`;
  }
  if (name === OPENED_FINDING) {
    return value === NOT_OPENED
      ? msg`Answers begin with text.`
      : msg`Answers begin inside of thinking: only the closing tag comes.`;
  }
  if (name === 'role') {
    const refused = value === 'system' ? 'developer' : 'system';
    return msg`The role ${refused} is sent as ${value}: the service refuses it.`;
  }
  if (value === FILLED_IN) {
    return msg`${name} is filled in where a conversation lacks it: the service requires it.`;
  }
  if (name === RERANK_DIALECT) return msg`Documents are sent in the form of ${value}.`;
  if (value !== '') {
    const refused = value === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    return msg`${refused} is sent as ${value}: the service refuses it.`;
  }
  const [parameter, only] = name.replace(' beside ', ' (beside ').split('=');
  const written = name.includes(' beside ') ? `${parameter})` : [parameter, only].join(' ').trim();
  return msg`${written} is left out: the service refuses it.`;
}

/** The items in their order, at most `size` together. */
export function inBatches<T>(items: readonly T[], size: number): (readonly T[])[] {
  const batches: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) {
    batches.push(items.slice(start, start + size));
  }
  return batches;
}

/**
 * The number of texts for each of the calls that replace a failed call of `count` texts. A limit that the refusal names is stored
 * for the model, as `maxInputs`. Undefined where fewer texts would not help.
 */
export async function learnBatchSize(
  findings: ModelFindings,
  model: ResolvedModel,
  error: unknown,
  count: number,
): Promise<number | undefined> {
  const refused = smallerBatch(error, count);
  if (refused?.isLimit) await findings.keep(model, new Map([['maxInputs', refused.size]]));
  return refused?.size;
}

/** The subject of the numbers in a refusal. */
const ABOUT_COUNT =
  /batch|inputs|input array|requests|texts|array|\blist\b|items|elements|documents|contents|条|数组|批/i;
/** A sum of tokens depends on the texts and does not limit their number. */
const ABOUT_TOKENS = /token|character|字符/i;
const ABOUT_SUM = /batch|total|sum of|per request|in (?:one|a single|the) request|all inputs/i;

/**
 * Limits as services word them. DashScope: "batch size is invalid, it should not be larger than 10"; Text Embeddings Inference:
 * "batch size 64 > maximum allowed batch size 32"; Gemini: "at most 100 requests can be in one batch"; Cohere: "total number of
 * texts must be at most 96"; Azure: "The max number of inputs is 1"; OpenAI: "array length must be 2048 or less"; Zhipu:
 * "input数组最大不得超过64条" (2026-11).
 */
const LIMITS: readonly RegExp[] = [
  /(?:larger|greater|more|longer|higher|bigger|less|fewer) than(?: or equal to)? (\d+)/i,
  /at most (\d+)/i,
  /up to (\d+)/i,
  /(\d+) or (?:less|fewer)/i,
  /(?:max|limit)[^\d.]{0,60}?(?:is|of|to|:|=|size)?\s*[(["']?(\d+)/i,
  /(?:exceed|over|above|beyond)[^\d]{0,60}?(\d+)/i,
  /(?:<=|≤)\s*(\d+)/,
  /(?:超过|超出|最大|最多|上限|大于)[^\d]{0,20}(\d+)/,
];
const TOO_MANY =
  /too (?:many|large|long|big)|exceed|split|smaller batch|larger than|greater than|over the|maximum|at most|过多|过大|超过|超出/i;

interface SmallerBatch {
  readonly size: number;
  /** The service named this number; it is half of the call otherwise. */
  readonly isLimit: boolean;
}

/** Exported for its spec. */
export function smallerBatch(error: unknown, count: number): SmallerBatch | undefined {
  if (!(error instanceof UpstreamError) || error.retryable || count < 2) return undefined;
  const half = { size: Math.ceil(count / 2), isLimit: false };
  if (error.status === 413 && error.vendorText === undefined) return half;
  const isRefusal = error.kind === 'invalid-request' || error.kind === 'context-length';
  const text = error.vendorText ?? '';
  if (!isRefusal) return undefined;
  if (ABOUT_TOKENS.test(text)) {
    return ABOUT_SUM.test(text) && TOO_MANY_TOKENS.test(text) ? half : undefined;
  }
  if (error.status !== 413 && !ABOUT_COUNT.test(text)) return undefined;
  const size = LIMITS.map((limit) => Number(limit.exec(text)?.[1])).find(
    (limit) => limit >= 1 && limit < count,
  );
  if (size !== undefined) return { size, isLimit: true };
  return error.status === 413 || TOO_MANY.test(text) ? half : undefined;
}

const TOO_MANY_TOKENS = /too many|max|exceed|limit|larger than|lower the number/i;
