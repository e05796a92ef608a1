import {
  Decimal,
  Flag,
  Id,
  Input,
  OneOf,
  pageFields,
  Text,
  VISIBLE,
  Whole,
} from '../platform/http/index.js';
import { phrase } from '../platform/message/index.js';
import { LEGACY_RERANK, MODEL_CATEGORIES } from './model.errors.js';

const INTEGER = 2_147_483_647;
/** What numeric(14, 6) holds. */
const HIGHEST_PRICE = 99_999_999;
const CATEGORIES = [...MODEL_CATEGORIES, LEGACY_RERANK];
const MODEL_NAME = {
  max: 200,
  description: 'The model’s id at the provider',
  example: 'gpt-4o-mini',
};
const PROVIDER_CODE = { max: 50, example: 'custom_api' };
const UNKNOWN = '; empty: unknown';
const NOT_EMPTY = { pattern: VISIBLE, patternMessage: phrase`must not be empty` };

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

/** What both writing routes take. */
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
  inputPrice: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per million tokens read${UNKNOWN}`,
  }),
  outputPrice: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per million tokens written${UNKNOWN}`,
  }),
  cachedInputPrice: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: 'Per million tokens read from the cache of the service; empty: as other tokens',
  }),
  imagePrice: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per image${UNKNOWN}`,
  }),
  secondPrice: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per second of video${UNKNOWN}`,
  }),
  characterPrice: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per million characters spoken${UNKNOWN}`,
  }),
};

export class CreateModelBody extends Input({
  ...modelFields,
  providerCode: Text(PROVIDER_CODE),
  category: OneOf(CATEGORIES),
  modelName: Text(MODEL_NAME),
}) {}

/** Fields that are absent or null stay as they are; an empty text empties its field, apiKey excepted. */
export class UpdateModelBody extends Input({
  ...modelFields,
  id: Id(),
  providerCode: Text({ ...PROVIDER_CODE, ...NOT_EMPTY, optional: true }),
  category: OneOf(CATEGORIES, { optional: true }),
  modelName: Text({ ...MODEL_NAME, ...NOT_EMPTY, optional: true }),
}) {}

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
