import { Entity } from 'typeorm';
import type { AuthType } from '../provider/index.js';
import { Prices } from '../usage/index.js';
import { isBlank } from '../platform/http/index.js';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  nullable,
  Revision,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
} from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

interface ModelCategory {
  /** What its models are for, in messages. */
  readonly purpose: Message;
  /** The adapters that call its models. */
  readonly adapters: 'chat' | 'embedding' | 'rerank' | 'media';
  /** Input and output in OpenRouter's terms (https://openrouter.ai/docs/models, November 2026). */
  readonly modalities: readonly [input: readonly string[], output: readonly string[]];
  /** Whether routes below /v1 call its models. */
  readonly isServed: boolean;
}

/** Records of older clients have these; there are no adapters for them. */
const RESERVED = null;

/** The categories of models, in the order of the API. */
const CATEGORIES = {
  chat: {
    purpose: msg`chat`,
    adapters: 'chat',
    modalities: [['text'], ['text']],
    isServed: true,
  },
  vector: {
    purpose: msg`embedding`,
    adapters: 'embedding',
    modalities: [['text'], ['embeddings']],
    isServed: true,
  },
  rerank: {
    purpose: msg`reranking`,
    adapters: 'rerank',
    modalities: [['text'], ['rerank']],
    isServed: true,
  },
  image: {
    purpose: msg`images`,
    adapters: 'media',
    modalities: [['text'], ['image']],
    isServed: true,
  },
  audio: {
    purpose: msg`speech`,
    adapters: 'media',
    modalities: [['text'], ['audio']],
    isServed: true,
  },
  video: {
    purpose: msg`videos`,
    adapters: 'media',
    modalities: [['text'], ['video']],
    isServed: false,
  },
  text: RESERVED,
  ppt: RESERVED,
  music: RESERVED,
  transcription: {
    purpose: msg`transcription`,
    adapters: 'media',
    modalities: [['audio'], ['text']],
    isServed: true,
  },
  moderation: {
    purpose: msg`moderation`,
    adapters: 'media',
    modalities: [['text'], ['moderation']],
    isServed: true,
  },
} as const satisfies Record<string, ModelCategory | null>;

type Category = keyof typeof CATEGORIES;

/** Categories whose models are called by name. */
export type CalledCategory = {
  [Name in Category]: (typeof CATEGORIES)[Name] extends null ? never : Name;
}[Category];

/** Categories of models that media adapters call. */
export type MediaCategory = {
  [Name in CalledCategory]: (typeof CATEGORIES)[Name]['adapters'] extends 'media' ? Name : never;
}[CalledCategory];

/** A word of older clients; records and queries use `rerank`. */
const LEGACY_RERANK = 'reranker';

export function storedCategory(category: string): string {
  return category === LEGACY_RERANK ? 'rerank' : category;
}

/** What models of the category are for. */
export function purposeOf(category: CalledCategory): Message {
  return CATEGORIES[category].purpose;
}

/** What is known of a category; undefined for a reserved one. */
export function categoryOf(category: string): ModelCategory | undefined {
  const name = storedCategory(category);
  return Object.hasOwn(CATEGORIES, name) ? (CATEGORIES[name as Category] ?? undefined) : undefined;
}

/** Categories that requests name. */
export const MODEL_CATEGORIES: readonly string[] = [...Object.keys(CATEGORIES), LEGACY_RERANK];

/** Categories of the models that routes below /v1 call. */
export const SERVED_CATEGORIES: readonly string[] = Object.keys(CATEGORIES).filter(
  (name) => categoryOf(name)?.isServed,
);

/**
 * Whether models of the category can have further keys and fallbacks. Media cannot: they are made by tasks, which are asked for
 * their result where and with which key they were begun.
 */
export function hasFallbacks(category: string): boolean {
  const adapters = categoryOf(category)?.adapters;
  return adapters !== undefined && adapters !== 'media';
}

/** The driver reads numbers of 64 bits in an array as texts. */
const ids = {
  from: (values: readonly (number | string)[]): number[] => values.map(Number),
  to: (values: unknown): unknown => values,
};

/** A model of a provider. The optional facts at the end are null where they are unknown. */
@Entity({ name: 'model' })
export class Model extends Prices {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;

  /** A code, not an id: it goes on naming whichever provider has the code. */
  @Varchar(50) providerCode: string;
  @Varchar(20) category: string;
  @Varchar(200) modelName: string;
  @Varchar(255, nullable) modelDescribe: string | null;

  /** Y or N: whether end users see it in their list. */
  @Char(1, { default: 'Y' }) modelShow: string;
  @Integer(nullable) modelDimension: number | null;
  @Varchar(500, nullable) apiHost: string | null;

  /** The credential, sealed by the vault; null without a key. */
  @Text(nullable) credential: string | null;
  /** The way that calls identify themselves with the credential; see AUTH_TYPES. */
  @Varchar(20, { default: 'bearer' }) authType: AuthType;
  /** The share of calls that use this key, where the model has further keys. */
  @Integer({ default: 1 }) keyWeight: number;
  /** Models that are called when this one fails, in their order. One that was deleted a moment ago may still be named. */
  @Bigint({ array: true, default: '{}', transformer: ids }) fallbackIds: number[];
  @Varchar(500, nullable) remark: string | null;
  @Integer(nullable) contextWindow: number | null;
  @Integer(nullable) maxOutput: number | null;
  @Flag(nullable) supportsTools: boolean | null;
  @Flag(nullable) supportsVision: boolean | null;
  /** Requests of the compatible API are refused where the model does not know one of their parameters. */
  @Flag({ default: false }) strictParameters: boolean;
  /** The row of model_price with these prices; null without any. */
  @Bigint(nullable) priceVersion: number | null;
  /** Learned from calls: a refused parameter to its replacement, or a limit of the service. */
  @Jsonb({ default: {} }) findings: Record<string, string | number>;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}

/** The display name, which falls back to the model name. */
export function labelOf(model: Pick<Model, 'modelName' | 'modelDescribe'>): string {
  const { modelDescribe, modelName } = model;
  return modelDescribe === null || isBlank(modelDescribe) ? modelName : modelDescribe.trim();
}

/** A key of a model beside the one in its own record. */
@Entity({ name: 'model_key' })
export class ModelKey {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() modelId: number;
  @Varchar(100) label: string;

  /** The credential, sealed by the vault. */
  @Text() credential: string;
  /** The share of calls that use this key. */
  @Integer() weight: number;
  @Flag() enabled: boolean;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
