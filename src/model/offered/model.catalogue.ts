import type { PriceCalculation, Provider } from '@pydantic/genai-prices';
import type { Prices } from '../../usage/index.js';

/** Prices of a model in US dollars, as a service or its vendor publishes them. Absent fields are unknown. */
export type OfferedPrices = Partial<
  Pick<Prices, 'contextTiers' | 'priceSource'> & {
    readonly [Price in OfferedPrice]: number;
  }
>;
type OfferedPrice = (typeof UNIT_OF)[number][0];

/** Published facts about a model. */
export type CatalogueEntry = OfferedPrices & {
  /** Tokens of input and output together. */
  readonly contextWindow?: number;
};

/** Our prices, the catalogue's names of them, and how many of its units ours is one of. */
const UNIT_OF = [
  ['inputPrice', 'input_mtok', 1],
  ['outputPrice', 'output_mtok', 1],
  ['cachedInputPrice', 'cache_read_mtok', 1],
  ['cacheWritePrice', 'cache_write_mtok', 1],
  ['cacheWriteHourPrice', 'cache_write_1h_mtok', 1],
  ['audioInputPrice', 'input_audio_mtok', 1],
  ['audioOutputPrice', 'output_audio_mtok', 1],
  ['webSearchPrice', 'web_searches_kcount', 1_000],
  ['codeRunPrice', 'code_executions_kcount', 1_000],
] as const;

/** Returns the published facts about models of one service. */
export type CatalogueLookup = (modelName: string) => CatalogueEntry;

/** The catalogue's names of vendors, where they are not the provider codes. */
const VENDOR_OF_CODE: Readonly<Record<string, string>> = {
  gemini: 'google',
  moonshot: 'moonshotai',
  voyage: 'voyageai',
  xai: 'x-ai',
};

/**
 * Published windows and prices of the models of a service, which is told by its address or, for one behind a gateway, by its
 * provider code. Prices are those of a service, so an unknown one has none; the window is that of the model. The package has
 * 19 MB in memory and is loaded by the first question; it holds its data and calls no server.
 */
export async function catalogueOf(address: string, providerCode: string): Promise<CatalogueLookup> {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices');
  const provider: Provider | undefined =
    findProvider({ providerApiUrl: address }) ??
    findProvider({ providerId: VENDOR_OF_CODE[providerCode] ?? providerCode });
  const find = (name: string, of?: Provider): PriceCalculation | null =>
    calcPrice({}, name, of && { provider: of });
  return (modelName) => {
    const vendorModel = provider && find(modelName, provider);
    if (vendorModel) return { ...windowOf(vendorModel), ...pricesOf(vendorModel) };
    const other = find(modelName);
    return other ? windowOf(other) : {};
  };
}

function windowOf({ model }: PriceCalculation): CatalogueEntry {
  return model.context_window ? { contextWindow: model.context_window } : {};
}

/** Prices in tiers count by the tokens that a call reads; each threshold is a tier with those prices that change there. */
function pricesOf({ model_price: prices, provider }: PriceCalculation): OfferedPrices {
  const base: Record<string, number> = {};
  const tiers = new Map<number, Record<string, number>>();
  for (const [field, name, units] of UNIT_OF) {
    const price = prices[name];
    if (price === undefined) continue;
    base[field] = (typeof price === 'object' ? price.base : price) / units;
    for (const tier of typeof price === 'object' ? price.tiers : []) {
      tiers.set(tier.start, { ...tiers.get(tier.start), [field]: tier.price / units });
    }
  }
  if (Object.keys(base).length === 0) return {};
  const contextTiers = [...tiers]
    .sort(([one], [other]) => one - other)
    .map(([above, changed]) => ({ above, ...changed }));
  const [page] = provider.pricing_urls ?? [];
  return {
    ...base,
    ...(contextTiers.length > 0 && { contextTiers }),
    priceSource: `@pydantic/genai-prices: ${page ?? provider.name}`,
  };
}
