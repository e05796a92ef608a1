import {
  recordRevision,
  flag,
  integer,
  integers,
  list,
  nullable,
  oneOf,
  sheetOf,
  text,
  time,
  View,
} from '../platform/http/index.js';
import { AUTH_TYPES } from '../provider/index.js';
import { priceViews } from '../usage/index.js';
import type { AuthType } from '../provider/index.js';
import { labelOf } from './model.entity.js';
import type { Model, ModelKey } from './model.entity.js';

const unknown = { nullable: true, description: 'null: unknown' };

/** A further key of a model, without the key itself. */
export class ModelKeyView extends View({
  id: integer({ example: 1 }),
  label: text({ example: 'Second account' }),
  weight: integer({ example: 1 }),
  enabled: flag(),
}) {}

/** A model without its keys. Empty texts are ''. */
export class ModelView extends View({
  id: integer({ example: 1 }),
  providerCode: text({ example: 'custom_api' }),
  category: text({ example: 'chat' }),
  modelName: text({ example: 'gpt-4o-mini' }),
  modelDescribe: text({ example: 'Small model' }),
  modelShow: oneOf(['Y', 'N']),
  modelDimension: nullable(integer({ example: null })),
  apiHost: text({ example: 'https://api.example.com/v1' }),
  hasApiKey: flag({ description: 'Whether a key is stored; the key itself is never returned' }),
  authType: oneOf<AuthType>(AUTH_TYPES),
  keyWeight: integer({ example: 1 }),
  keys: list(ModelKeyView, { description: 'Further keys, without the keys themselves' }),
  fallbackIds: integers({ description: 'Models that answer when this one fails', example: [2] }),
  remark: text({ example: '' }),
  contextWindow: nullable(integer({ ...unknown })),
  maxOutput: nullable(integer({ ...unknown })),
  supportsTools: nullable(flag({ ...unknown })),
  supportsVision: nullable(flag({ ...unknown })),
  strictParameters: flag({
    description: 'Whether a parameter that the model does not know is refused',
  }),
  ...priceViews,
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {}

export const modelSheet = sheetOf<ModelView>('Models', {
  id: 'Id',
  modelName: 'Name',
  modelDescribe: 'Display name',
  category: 'Category',
  providerCode: 'Provider',
  modelShow: ['Shown to users', { Y: 'Yes', N: 'No' }],
  modelDimension: 'Dimension',
  apiHost: 'Address',
  hasApiKey: ['API key', { true: 'Stored', false: 'None' }],
  contextWindow: 'Context window',
  maxOutput: 'Output limit',
  inputPrice: 'Input price',
  outputPrice: 'Output price',
  cachedInputPrice: 'Cached input price',
  cacheWritePrice: 'Cache write price',
  cacheWriteHourPrice: 'Hourly cache write price',
  audioInputPrice: 'Audio input price',
  audioOutputPrice: 'Audio output price',
  imagePrice: 'Image price',
  secondPrice: 'Second price',
  characterPrice: 'Character price',
  webSearchPrice: 'Web search price',
  codeRunPrice: 'Code run price',
  minimumPrice: 'Minimum price',
  batchPriceFactor: 'Batch price factor',
  currency: 'Currency',
  priceSource: 'Source of prices',
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

/** `keys` may belong to several models. */
export function toModelView(model: Model, keys: readonly ModelKey[]): ModelView {
  return ModelView.of(model, {
    modelDescribe: model.modelDescribe ?? '',
    apiHost: model.apiHost ?? '',
    hasApiKey: model.credential !== null,
    keys: keys.filter(({ modelId }) => modelId === model.id).map((key) => ModelKeyView.of(key)),
    remark: model.remark ?? '',
  });
}

/** A key or address that calls skip at the moment, as this process knows it. */
export class CooldownView extends View({
  keyId: nullable(integer({ description: 'Of a further key; null: the key of the model' })),
  reason: oneOf(['busy', 'refused', 'failing'], {
    description:
      'busy: the service asks for a pause; refused: it does not accept the key; failing: calls of the address fail',
  }),
  seconds: integer({ description: 'Remaining cooldown in seconds', example: 12 }),
}) {}

/** A model as end users see it: neither address nor remark. */
export class ModelEntryView extends View({
  id: integer({ example: 1 }),
  modelName: text({ example: 'gpt-4o-mini' }),
  modelDescribe: text({ description: 'Display name; the model name where none is given' }),
  providerCode: text({ example: 'custom_api' }),
}) {}

export function toModelEntryView(model: Model): ModelEntryView {
  return ModelEntryView.of(model, { modelDescribe: labelOf(model) });
}

export class ProviderOptionView extends View({
  label: text({ example: 'Chat completions (own address)' }),
  value: text({ example: 'custom_api' }),
  defaultAddress: nullable(
    text({
      description:
        'Address of a model without apiHost, empty if the operator sets it. null: apiHost is required',
    }),
  ),
}) {}
