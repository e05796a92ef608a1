import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsArray, IsOptional } from 'class-validator';
import {
  Decimal,
  decimal,
  Input,
  integer,
  list,
  Nested,
  nullable,
  optional,
  recordId,
  ruleText,
  Text,
  text,
  time,
  View,
  Whole,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { MAX_PRICE, MIN_AMOUNT } from './price.entity.js';

const AMOUNT = { min: 0, max: MAX_PRICE, smallest: MIN_AMOUNT } as const;
const MAX_FACTOR = 100;
const MAX_TIER_COUNT = 10;
const CURRENCY_CODE = /^[A-Z]{3}$/;
const UNKNOWN = '; empty: unknown';

function amount(description: string) {
  return Decimal({ ...AMOUNT, optional: true, clearable: true, description });
}

function tierPrice(description: string) {
  return Decimal({ ...AMOUNT, optional: true, description });
}

export class ContextTierBody extends Input({
  above: Whole({
    min: 1,
    description: 'Calls that read more tokens than these have the prices of the tier',
    example: 200_000,
  }),
  inputPrice: tierPrice('Empty: as below the tier'),
  outputPrice: tierPrice('Empty: as below the tier'),
  cachedInputPrice: tierPrice('Empty: in proportion to inputPrice'),
  cacheWritePrice: tierPrice('Empty: in proportion to inputPrice'),
  cacheWriteHourPrice: tierPrice('Empty: in proportion to inputPrice'),
}) {}

export class ServiceTierBody extends Input({
  tier: Text({
    max: 20,
    description: 'As the service names it in its answer',
    example: 'priority',
  }),
  factor: Decimal({ min: 0, max: MAX_FACTOR, smallest: 0.001, example: 2 }),
}) {}

/** A field that is a list of tiers, each of which has another key. */
function Tiers<Tier extends object>(
  name: string,
  type: new () => Tier,
  key: keyof Tier,
  description: string,
): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ type: [type], required: false, description }),
    IsOptional(),
    IsArray({ message: ruleText(msg`${name} must be a list`) }),
    ArrayMaxSize(MAX_TIER_COUNT, {
      message: ruleText(msg`${name} has more than ${MAX_TIER_COUNT} entries`),
    }),
    ArrayUnique((tier: Tier) => tier[key], {
      message: ruleText(msg`${name} has an entry twice`),
    }),
    Nested(() => type, { each: true, message: msg`each entry of ${name} must be an object` }),
  );
}

/** Replaces all tiers. */
export function ContextTiers(): PropertyDecorator {
  const description = 'Prices by the length of what a call reads; replaces those that there are';
  return Tiers('contextTiers', ContextTierBody, 'above', description);
}

/** Replaces all factors. */
export function ServiceTierFactors(): PropertyDecorator {
  const description =
    'What calls in a tier of the service cost, as a multiple of the prices; replaces those that there are';
  return Tiers('serviceTierFactors', ServiceTierBody, 'tier', description);
}

/** The prices of a model in a body, but the lists of tiers. */
export const priceFields = {
  inputPrice: amount(`Per million tokens read${UNKNOWN}`),
  outputPrice: amount(`Per million tokens written${UNKNOWN}`),
  cachedInputPrice: amount(
    'Per million tokens read from the cache of the service; empty: as other tokens',
  ),
  cacheWritePrice: amount(
    'Per million tokens written to the cache of the service for 5 minutes; empty: 1.25 times inputPrice',
  ),
  cacheWriteHourPrice: amount('The same for an hour; empty: twice inputPrice'),
  audioInputPrice: amount('Per million tokens of sound read; empty: as other tokens'),
  audioOutputPrice: amount('Per million tokens of sound written; empty: as other tokens'),
  imagePrice: amount(`Per image${UNKNOWN}`),
  secondPrice: amount(`Per second of video, or of sound that is transcribed${UNKNOWN}`),
  characterPrice: amount(`Per million characters spoken${UNKNOWN}`),
  webSearchPrice: amount(`Per web search that the service makes${UNKNOWN}`),
  codeRunPrice: amount(`Per run of code, or container for it, of the service${UNKNOWN}`),
  minimumPrice: amount('The least that a call costs; empty: nothing'),
  batchPriceFactor: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: 1,
    smallest: 0.001,
    description:
      'What a call of a batch costs, as a part of these prices, such as 0.5; empty: as any other call',
  }),
  currency: Text({
    optional: true,
    clearable: true,
    pattern: CURRENCY_CODE,
    patternMessage: msg`must be a code of three capital letters, such as EUR`,
    description: 'ISO 4217; empty: that of the installation (CURRENCY)',
    example: 'EUR',
  }),
  priceSource: Text({
    optional: true,
    clearable: true,
    max: 500,
    description: 'Where the prices are from, such as an address and a date',
  }),
};

const unknown = { description: 'null: unknown' };

export class ContextTierView extends View({
  above: integer({ example: 200_000 }),
  inputPrice: optional(decimal({ description: 'Absent: as below the tier' })),
  outputPrice: optional(decimal({ description: 'Absent: as below the tier' })),
  cachedInputPrice: optional(decimal({ description: 'Absent: in proportion to inputPrice' })),
  cacheWritePrice: optional(decimal({ description: 'Absent: in proportion to inputPrice' })),
  cacheWriteHourPrice: optional(decimal({ description: 'Absent: in proportion to inputPrice' })),
}) {}

class ServiceTierView extends View({
  tier: text({ example: 'priority' }),
  factor: decimal({ example: 2 }),
}) {}

/** The prices of a model in an answer. Those of a version have the date from which they hold. */
export const priceViews = {
  inputPrice: nullable(decimal(unknown)),
  outputPrice: nullable(decimal(unknown)),
  cachedInputPrice: nullable(decimal({ description: 'null: as other tokens' })),
  cacheWritePrice: nullable(decimal({ description: 'null: 1.25 times inputPrice' })),
  cacheWriteHourPrice: nullable(decimal({ description: 'null: twice inputPrice' })),
  audioInputPrice: nullable(decimal({ description: 'null: as other tokens' })),
  audioOutputPrice: nullable(decimal({ description: 'null: as other tokens' })),
  imagePrice: nullable(decimal(unknown)),
  secondPrice: nullable(decimal(unknown)),
  characterPrice: nullable(decimal(unknown)),
  webSearchPrice: nullable(decimal(unknown)),
  codeRunPrice: nullable(decimal(unknown)),
  minimumPrice: nullable(decimal({ description: 'null: none' })),
  batchPriceFactor: nullable(decimal({ description: 'null: as any other call' })),
  contextTiers: list(ContextTierView, { description: 'By the tokens that a call reads' }),
  serviceTierFactors: list(ServiceTierView, { description: 'Multiples of the prices' }),
  currency: nullable(text({ description: 'null: that of the installation', example: 'EUR' })),
  priceSource: nullable(text({ description: 'null: not stated' })),
};

export class PriceVersionView extends View({
  id: recordId(),
  ...priceViews,
  createBy: nullable(integer({ description: 'Id of the user who set them' })),
  createTime: time({ description: 'From when on calls cost them' }),
}) {}
