import { decimal, flag, integer, list, nullable, text, View } from '../../platform/http/index.js';
import { MAX_OFFERED_MODELS } from '../../provider/index.js';
import { ContextTierView } from '../../usage/index.js';

const unknown = { description: 'null: unknown' };
const price = {
  description: 'US dollars per million tokens, as published; null: unknown',
  example: 0.4,
};

export class OfferedModelView extends View({
  id: text({ description: 'For modelName', example: 'gpt-4.1-mini' }),
  label: text({ description: 'The id where the service has no other name' }),
  category: nullable(text({ description: 'As in a model; null: unknown', example: 'chat' })),
  contextWindow: nullable(integer({ ...unknown, example: 1_047_576 })),
  maxOutput: nullable(integer(unknown)),
  supportsTools: nullable(flag(unknown)),
  supportsVision: nullable(flag(unknown)),
  inputPrice: nullable(decimal(price)),
  outputPrice: nullable(decimal(price)),
  cachedInputPrice: nullable(decimal(price)),
  cacheWritePrice: nullable(decimal(price)),
  cacheWriteHourPrice: nullable(decimal(price)),
  audioInputPrice: nullable(decimal(price)),
  audioOutputPrice: nullable(decimal(price)),
  webSearchPrice: nullable(decimal({ description: 'US dollars per call; null: unknown' })),
  codeRunPrice: nullable(decimal({ description: 'US dollars per call; null: unknown' })),
  contextTiers: list(ContextTierView, { description: 'Prices by the tokens that a call reads' }),
  priceSource: nullable(text({ description: 'Where the prices are from; null: unknown' })),
}) {}

export class OfferedModelsView extends View({
  models: list(OfferedModelView, {
    description: `In the order of the service, at most ${MAX_OFFERED_MODELS}`,
  }),
  reason: nullable(text({ description: 'Why there is no list; null where there is one' })),
}) {}
