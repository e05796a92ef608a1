import type { ModelPrice, PriceCalculation, Provider } from '@pydantic/genai-prices';

/** Published facts about a model. Absent fields are unknown. */
export interface CatalogueEntry {
  /** Tokens of input and output together. */
  readonly contextWindow?: number;
  /** US dollars per million tokens; of prices in tiers, that of the first. */
  readonly inputPrice?: number;
  readonly outputPrice?: number;
  readonly cachedInputPrice?: number;
}

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
    if (vendorModel) return { ...windowOf(vendorModel), ...pricesOf(vendorModel.model_price) };
    const other = find(modelName);
    return other ? windowOf(other) : {};
  };
}

function windowOf({ model }: PriceCalculation): CatalogueEntry {
  return model.context_window ? { contextWindow: model.context_window } : {};
}

function pricesOf(prices: ModelPrice): CatalogueEntry {
  const { input_mtok: input, output_mtok: output, cache_read_mtok: cached } = prices;
  return {
    ...priceIn('inputPrice', input),
    ...priceIn('outputPrice', output),
    ...priceIn('cachedInputPrice', cached),
  };
}

function priceIn(
  field: 'inputPrice' | 'outputPrice' | 'cachedInputPrice',
  price: ModelPrice[string],
): CatalogueEntry {
  const amount = typeof price === 'object' ? price.base : price;
  return amount === undefined ? {} : { [field]: amount };
}
