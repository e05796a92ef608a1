import type {
  ContextTierBody,
  ContextTierView,
  CreateModelBody,
  ModelKeyBody,
  ModelView,
  ServiceTierBody,
} from '@plinth/client';
import type { Category } from './categories';

/** A number field; empty if unknown. */
const orEmpty = <Value>(value: Value | null | undefined): Value | '' => value ?? '';

const BOOLEANS = { yes: true, no: false, unknown: '' } as const;

export function booleanText(value: boolean | null | undefined): keyof typeof BOOLEANS {
  return value == null ? 'unknown' : value ? 'yes' : 'no';
}

/** An additional key in the form. A stored key has an id; its text is never sent to the page. */
export type KeyValues = Required<Omit<ModelKeyBody, 'id'>> & { readonly id?: number };

const KEY = { label: '', apiKey: '', weight: 1, enabled: true };
export const newKey = (): KeyValues => ({ ...KEY });

/** Prices that a tier by the length of context can have. */
export const TIER_PRICES = [
  ...(['inputPrice', 'cachedInputPrice', 'outputPrice'] as const),
  ...(['cacheWritePrice', 'cacheWriteHourPrice'] as const),
] as const;

/** A tier in the form; empty prices follow from those of the model. */
export type TierValues = Record<'above' | (typeof TIER_PRICES)[number], number | ''>;
type ServiceTierValues = Record<'tier', string> & Record<'factor', number | ''>;

export const newTier = (): TierValues => tierValues({ above: 0 });

export function tierValues(tier: ContextTierView): TierValues {
  const prices = TIER_PRICES.map((price) => [price, orEmpty(tier[price])]);
  return { above: tier.above || '', ...Object.fromEntries(prices) } as TierValues;
}

function tierBody({ above, ...prices }: TierValues): ContextTierBody[] {
  const stated = Object.entries(prices).filter(([, price]) => price !== '');
  return above === '' ? [] : [{ above, ...Object.fromEntries(stated) }];
}

function factorBody({ tier, factor }: ServiceTierValues): ServiceTierBody[] {
  return tier.trim() === '' || factor === '' ? [] : [{ tier: tier.trim(), factor }];
}

/** `default` applies to a new model and means the provider's usual value. */
export type AuthChoice = ModelView['authType'] | 'default';
export const AUTH_TYPES = ['bearer', 'api-key', 'entra', 'google', 'aws'] as const;

export type ModelValues = ReturnType<typeof valuesOf>;

/** Form values of a stored or new model. */
export function valuesOf(model: ModelView | undefined, category: string) {
  const authType: AuthChoice = model?.authType ?? 'default';
  return {
    revision: model?.revision,
    providerCode: model?.providerCode ?? '',
    category: (model?.category ?? category) as Category,
    apiHost: model?.apiHost ?? '',
    authType,
    apiKey: '',
    modelName: model?.modelName ?? '',
    modelDescribe: model?.modelDescribe ?? '',
    modelShow: (model?.modelShow ?? 'Y') === 'Y',
    strictParameters: model?.strictParameters ?? false,
    modelDimension: orEmpty(model?.modelDimension),
    contextWindow: orEmpty(model?.contextWindow),
    maxOutput: orEmpty(model?.maxOutput),
    supportsTools: booleanText(model?.supportsTools),
    supportsVision: booleanText(model?.supportsVision),
    inputPrice: orEmpty(model?.inputPrice),
    outputPrice: orEmpty(model?.outputPrice),
    cachedInputPrice: orEmpty(model?.cachedInputPrice),
    imagePrice: orEmpty(model?.imagePrice),
    secondPrice: orEmpty(model?.secondPrice),
    characterPrice: orEmpty(model?.characterPrice),
    cacheWritePrice: orEmpty(model?.cacheWritePrice),
    cacheWriteHourPrice: orEmpty(model?.cacheWriteHourPrice),
    audioInputPrice: orEmpty(model?.audioInputPrice),
    audioOutputPrice: orEmpty(model?.audioOutputPrice),
    webSearchPrice: orEmpty(model?.webSearchPrice),
    codeRunPrice: orEmpty(model?.codeRunPrice),
    minimumPrice: orEmpty(model?.minimumPrice),
    batchPriceFactor: orEmpty(model?.batchPriceFactor),
    currency: model?.currency ?? '',
    priceSource: model?.priceSource ?? '',
    contextTiers: (model?.contextTiers ?? []).map(tierValues),
    serviceTierFactors: (model?.serviceTierFactors ?? []).map((tier): ServiceTierValues => ({
      ...tier,
    })),
    remark: model?.remark ?? '',
    fallbackIds: (model?.fallbackIds ?? []).map(String),
    keyWeight: model?.keyWeight ?? 1,
    keys: (model?.keys ?? []).map((key): KeyValues => ({ ...key, apiKey: '' })),
  };
}

/** Whether models of the category can have additional keys and fallbacks. */
export function hasAlternatives(category: Category): boolean {
  return category === 'chat' || category === 'vector' || category === 'rerank';
}

/** Request body of both write routes. An empty key keeps the stored one; other empty fields are cleared. */
export function bodyOf({
  apiKey,
  authType,
  keys,
  fallbackIds,
  ...values
}: ModelValues): CreateModelBody & { readonly revision?: number | undefined } {
  const supportsAlternatives = hasAlternatives(values.category);
  return {
    ...values,
    ...(apiKey !== '' && { apiKey }),
    ...(authType !== 'default' && { authType }),
    modelShow: values.modelShow ? 'Y' : 'N',
    currency: values.currency.trim().toUpperCase(),
    contextTiers: values.contextTiers.flatMap(tierBody),
    serviceTierFactors: values.serviceTierFactors.flatMap(factorBody),
    supportsTools: BOOLEANS[values.supportsTools],
    supportsVision: BOOLEANS[values.supportsVision],
    fallbackIds: supportsAlternatives ? fallbackIds.map(Number) : [],
    keys: supportsAlternatives ? keys : [],
  };
}
