import {
  Clearable,
  Decimal,
  Flag,
  Id,
  OneOf,
  PageQuery,
  Text,
  Whole,
} from '../platform/http/index.js';
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
const NOT_EMPTY = { pattern: /\S/, patternMessage: 'must not be empty' };

export class ModelListQuery extends PageQuery {
  @Text({ optional: true, example: 'chat', description: 'reranker is read as rerank' })
  category?: string;

  @Text({ optional: true, description: 'Part of the name' })
  modelName?: string;

  @Text({ optional: true, description: 'Part of the code' })
  providerCode?: string;

  @Text({ optional: true, description: 'Part of the display name' })
  modelDescribe?: string;
}

export class ModelEntriesQuery extends PageQuery {
  @Text({ optional: true, description: 'chat when not given' })
  category?: string;

  @Text({ optional: true, description: 'Part of the name' })
  modelName?: string;
}

/** What both writing routes take. */
export class ModelFields {
  @Text({ optional: true, max: 255, description: 'Display name; the model name when empty' })
  modelDescribe?: string;

  @OneOf(['Y', 'N'], { optional: true, description: 'N hides it from end users; Y when not given' })
  modelShow?: string;

  @Whole({ optional: true, min: 1, max: INTEGER, description: 'Required for category vector' })
  @Clearable()
  modelDimension?: number | null;

  @Text({
    optional: true,
    max: 500,
    description:
      'A base address, or a full endpoint address; required where the provider code has no default',
  })
  apiHost?: string;

  @Text({ optional: true, max: 10_000, description: 'Never returned; on an edit, empty keeps it' })
  apiKey?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;

  @Whole({ optional: true, min: 1, max: INTEGER, description: `Tokens in all${UNKNOWN}` })
  @Clearable()
  contextWindow?: number | null;

  @Whole({ optional: true, min: 1, max: INTEGER, description: `Tokens of an answer${UNKNOWN}` })
  @Clearable()
  maxOutput?: number | null;

  @Flag({ optional: true, description: `Can call tools${UNKNOWN}` })
  @Clearable()
  supportsTools?: boolean | null;

  @Flag({ optional: true, description: `Can see pictures${UNKNOWN}` })
  @Clearable()
  supportsVision?: boolean | null;

  @Decimal({
    optional: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per million tokens read${UNKNOWN}`,
  })
  @Clearable()
  inputPrice?: number | null;

  @Decimal({
    optional: true,
    min: 0,
    max: HIGHEST_PRICE,
    description: `Per million tokens written${UNKNOWN}`,
  })
  @Clearable()
  outputPrice?: number | null;
}

export class CreateModelBody extends ModelFields {
  @Text(PROVIDER_CODE)
  providerCode: string;

  @OneOf(CATEGORIES)
  category: string;

  @Text(MODEL_NAME)
  modelName: string;
}

/** Fields that are absent or null stay as they are; an empty text empties its field, apiKey excepted. */
export class UpdateModelBody extends ModelFields {
  @Id()
  id: number;

  @Text({ ...PROVIDER_CODE, ...NOT_EMPTY, optional: true })
  providerCode?: string;

  @OneOf(CATEGORIES, { optional: true })
  category?: string;

  @Text({ ...MODEL_NAME, ...NOT_EMPTY, optional: true })
  modelName?: string;
}

export class BatchKeyBody {
  @Text(PROVIDER_CODE)
  providerCode: string;

  @Text({ max: 10_000 })
  apiKey: string;
}

export class ModelTestBody {
  @Text({
    optional: true,
    max: 2_000,
    description: 'What a chat model is asked',
    example: 'Say hello.',
  })
  prompt?: string;
}
