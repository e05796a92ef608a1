import {
  decimal,
  flag,
  integer,
  isBlank,
  nullable,
  oneOf,
  sheetOf,
  text,
  time,
  View,
} from '../platform/http/index.js';
import type { Model } from './model.entity.js';

const unknown = { nullable: true, description: 'null: unknown' };

/** A model without its key. Empty texts are ''. */
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
  remark: text({ example: '' }),
  contextWindow: nullable(integer({ ...unknown })),
  maxOutput: nullable(integer({ ...unknown })),
  supportsTools: nullable(flag({ ...unknown })),
  supportsVision: nullable(flag({ ...unknown })),
  inputPrice: nullable(decimal({ ...unknown })),
  outputPrice: nullable(decimal({ ...unknown })),
  cachedInputPrice: nullable(decimal({ description: 'null: as other tokens' })),
  imagePrice: nullable(decimal({ ...unknown })),
  secondPrice: nullable(decimal({ ...unknown })),
  characterPrice: nullable(decimal({ ...unknown })),
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
  imagePrice: 'Image price',
  secondPrice: 'Second price',
  characterPrice: 'Character price',
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

export function toModelView(model: Model): ModelView {
  return ModelView.of(model, {
    modelDescribe: model.modelDescribe ?? '',
    apiHost: model.apiHost ?? '',
    hasApiKey: model.credential !== null,
    remark: model.remark ?? '',
  });
}

/** What an end user learns of a model: neither address nor remark. */
export class ModelEntryView extends View({
  id: integer({ example: 1 }),
  modelName: text({ example: 'gpt-4o-mini' }),
  modelDescribe: text({ description: 'Display name; the model name where none is given' }),
  providerCode: text({ example: 'custom_api' }),
}) {}

export function toModelEntryView(model: Model): ModelEntryView {
  return ModelEntryView.of(model, { modelDescribe: labelOf(model) });
}

/** The display name, which falls back to the model name. */
export function labelOf(model: Pick<Model, 'modelName' | 'modelDescribe'>): string {
  const { modelDescribe, modelName } = model;
  return modelDescribe === null || isBlank(modelDescribe) ? modelName : modelDescribe.trim();
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
