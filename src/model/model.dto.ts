import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import {
  BasedOnRevision,
  Flag,
  Id,
  Ids,
  Input,
  Nested,
  OneOf,
  pageFields,
  ruleText,
  Text,
  VISIBLE,
  Whole,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { AUTH_TYPES } from '../provider/index.js';
import { ContextTiers, priceFields, ServiceTierFactors } from '../usage/index.js';
import type { ContextTierBody, ServiceTierBody } from '../usage/index.js';
import { MODEL_CATEGORIES } from './model.entity.js';

const INTEGER = 2_147_483_647;
const MODEL_NAME = {
  max: 200,
  description: 'The model’s id at the provider',
  example: 'gpt-4o-mini',
};
const PROVIDER_CODE = { max: 50, example: 'custom_api' };
const UNKNOWN = '; empty: unknown';
const NOT_EMPTY = { pattern: VISIBLE, patternMessage: msg`must not be empty` };

export class ModelListQuery extends Input({
  ...pageFields(
    'id',
    'providerCode',
    'category',
    'modelName',
    'modelDescribe',
    'modelShow',
    'modelDimension',
    'apiHost',
    'remark',
    'contextWindow',
    'maxOutput',
    'supportsTools',
    'supportsVision',
    'inputPrice',
    'outputPrice',
    'cachedInputPrice',
    'imagePrice',
    'secondPrice',
    'characterPrice',
    'batchPriceFactor',
    'createTime',
    'updateTime',
  ),
  category: Text({ optional: true, example: 'chat', description: 'reranker is read as rerank' }),
  modelName: Text({ optional: true, description: 'Part of the name' }),
  providerCode: Text({ optional: true, description: 'Part of the code' }),
  modelDescribe: Text({ optional: true, description: 'Part of the display name' }),
}) {}

export class ModelEntriesQuery extends Input({
  ...pageFields('id', 'modelName', 'modelDescribe', 'providerCode'),
  category: Text({ optional: true, description: 'chat when not given' }),
  modelName: Text({ optional: true, description: 'Part of the name' }),
}) {}

/** Maximum fallbacks of one model. */
export const MAX_FALLBACK_COUNT = 5;
/** Maximum keys of one model beside its own. */
const MAX_KEY_COUNT = 20;
const WEIGHT = { min: 1, max: 100 };

export class ModelKeyBody extends Input({
  id: Id({ optional: true, description: 'Of a key that is there; a new key has none' }),
  label: Text({ max: 100, ...NOT_EMPTY, example: 'Second account' }),
  apiKey: Text({
    optional: true,
    max: 10_000,
    description: 'Never returned. Required for a new key; empty keeps that of a key that is there',
  }),
  weight: Whole({ optional: true, ...WEIGHT, description: 'Its share of the calls; default 1' }),
  enabled: Flag({ optional: true, description: 'Default: yes' }),
}) {}

function ModelKeyList(): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      type: [ModelKeyBody],
      required: false,
      description: `Further keys, at most ${MAX_KEY_COUNT}: replaces those that there are. Categories chat, vector and rerank`,
    }),
    IsOptional(),
    IsArray({ message: ruleText(msg`keys must be a list`) }),
    ArrayMaxSize(MAX_KEY_COUNT, {
      message: ruleText(msg`keys has more than ${MAX_KEY_COUNT} entries`),
    }),
    Nested(() => ModelKeyBody, {
      each: true,
      message: msg`each entry of keys must be an object`,
    }),
  );
}

/** The fields of both writing routes. */
const modelFields = {
  modelDescribe: Text({
    optional: true,
    max: 255,
    description: 'Display name; the model name when empty',
  }),
  modelShow: OneOf(['Y', 'N'], {
    optional: true,
    description: 'N hides it from end users; Y when not given',
  }),
  modelDimension: Whole({
    optional: true,
    clearable: true,
    min: 1,
    max: INTEGER,
    description: 'Required for category vector',
  }),
  apiHost: Text({
    optional: true,
    max: 500,
    description:
      'A base address, or a full endpoint address; required where the provider code has no default',
  }),
  apiKey: Text({
    optional: true,
    max: 10_000,
    description:
      'Never returned; on an edit, empty keeps it. A change of scheme, host or port needs it again, or the permission system:model:credential',
  }),
  authType: OneOf(AUTH_TYPES, {
    optional: true,
    description:
      'How calls identify themselves: bearer is the key as the protocol sends keys, api-key the header of Azure, entra and google a token, aws a signature (SigV4). The last three take JSON as apiKey, or the identity of the host without one. Default: by providerCode',
  }),
  keyWeight: Whole({
    optional: true,
    ...WEIGHT,
    description: 'The share of the calls that use apiKey, where there are further keys; default 1',
  }),
  fallbackIds: Ids({
    optional: true,
    maxItems: MAX_FALLBACK_COUNT,
    description:
      'Models of the same category that answer when this one fails, in their order. An embedding model needs one of the same modelName and modelDimension',
    example: [2],
  }),
  remark: Text({ optional: true, max: 500 }),
  contextWindow: Whole({
    optional: true,
    clearable: true,
    min: 1,
    max: INTEGER,
    description: `Tokens in all${UNKNOWN}`,
  }),
  maxOutput: Whole({
    optional: true,
    clearable: true,
    min: 1,
    max: INTEGER,
    description: `Tokens of an answer${UNKNOWN}`,
  }),
  supportsTools: Flag({ optional: true, clearable: true, description: `Can call tools${UNKNOWN}` }),
  supportsVision: Flag({
    optional: true,
    clearable: true,
    description: `Can see pictures${UNKNOWN}`,
  }),
  strictParameters: Flag({
    optional: true,
    description:
      'true: below /v1, a parameter that the model does not know is refused with its name. Default false: it is left out and named in the header x-plinth-ignored',
  }),
  ...priceFields,
};

export class CreateModelBody extends Input({
  ...modelFields,
  providerCode: Text(PROVIDER_CODE),
  category: OneOf(MODEL_CATEGORIES),
  modelName: Text(MODEL_NAME),
}) {
  @ModelKeyList()
  keys?: ModelKeyBody[];

  @ContextTiers()
  contextTiers?: ContextTierBody[];

  @ServiceTierFactors()
  serviceTierFactors?: ServiceTierBody[];
}

/** Fields that are absent or null stay as they are; an empty text empties its field, apiKey excepted. */
export class UpdateModelBody extends Input({
  ...modelFields,
  id: Id(),
  revision: BasedOnRevision(),
  providerCode: Text({ ...PROVIDER_CODE, ...NOT_EMPTY, optional: true }),
  category: OneOf(MODEL_CATEGORIES, { optional: true }),
  modelName: Text({ ...MODEL_NAME, ...NOT_EMPTY, optional: true }),
}) {
  @ModelKeyList()
  keys?: ModelKeyBody[];

  @ContextTiers()
  contextTiers?: ContextTierBody[];

  @ServiceTierFactors()
  serviceTierFactors?: ServiceTierBody[];
}

export class BatchKeyBody extends Input({
  providerCode: Text(PROVIDER_CODE),
  apiKey: Text({ max: 10_000 }),
}) {}

export class ModelTestBody extends Input({
  prompt: Text({
    optional: true,
    max: 2_000,
    description: 'What a chat model is asked',
    example: 'Say hello.',
  }),
}) {}
