import type { UsageEntry } from '../../src/usage/usage.entry.js';

/** Prices of a model in millionths. Factors in thousandths. */
export interface TestPrices {
  readonly currency: 'USD' | 'EUR';
  readonly cents: Readonly<Record<string, number>>;
  readonly tiers: readonly (Readonly<Record<string, number>> & { readonly above: number })[];
  readonly factors: Readonly<Record<string, number>>;
}

/** What a call used, as the usage ledger has it. */
export type UsedParts = Pick<
  UsageEntry,
  | 'door'
  | 'input_tokens'
  | 'output_tokens'
  | 'cached_tokens'
  | 'cache_write_tokens'
  | 'cache_write_hour_tokens'
  | 'audio_input_tokens'
  | 'audio_output_tokens'
  | 'web_searches'
  | 'code_runs'
  | 'service_tier'
  | 'images'
  | 'seconds'
  | 'characters'
>;

const FIELDS = [
  ...['inputPrice', 'outputPrice', 'cachedInputPrice', 'cacheWritePrice', 'cacheWriteHourPrice'],
  ...['audioInputPrice', 'audioOutputPrice', 'imagePrice', 'secondPrice', 'characterPrice'],
  ...['webSearchPrice', 'codeRunPrice', 'minimumPrice'],
];
const MAX_PRICE = 9_999_999;

/** Eight lists: with most prices, with few, in tiers, and the last in another currency. */
export function randomPrices(random: (below: number) => number): TestPrices[] {
  const priced = (fields: readonly string[]): Record<string, number> =>
    Object.fromEntries(fields.map((field) => [field, 1 + random(MAX_PRICE)]));
  return Array.from({ length: 8 }, (_, at) => {
    const share = at < 6 ? 70 : 10;
    const cents = {
      ...priced(FIELDS.filter((_field, place) => place < 2 || random(100) < share)),
      minimumPrice: random(3_000),
      ...(at % 2 === 0 && { batch: 500 }),
    };
    const tiers = [20_000, 60_000]
      .slice(0, at % 3)
      .map((above) => ({ ...priced(FIELDS.slice(0, 5)), above }));
    const factors: Record<string, number> = at % 2 === 0 ? { priority: 1_750, flex: 500 } : {};
    return { cents, tiers, factors, currency: at === 7 ? 'EUR' : 'USD' };
  });
}

/** The fields of a model with these prices. */
export function modelPrices({ cents, tiers, factors, currency }: TestPrices): object {
  const { batch, ...prices } = cents;
  const inUnits = (values: Readonly<Record<string, number>>): object =>
    Object.fromEntries(Object.entries(values).map(([field, value]) => [field, value / 1e6]));
  return {
    ...inUnits(prices),
    ...(batch !== undefined && { batchPriceFactor: batch / 1_000 }),
    contextTiers: tiers.map(({ above, ...tier }) => ({ above, ...inUnits(tier) })),
    serviceTierFactors: Object.entries(factors).map(([tier, factor]) => ({
      tier,
      factor: factor / 1_000,
    })),
    currency,
  };
}

const SCALE = 10n ** 8n;

/** The cost in units of 1e-12, as a person with the price list would work it out. */
export function costOf(used: UsedParts, { cents, tiers, factors }: TestPrices): bigint {
  const tier = tiers.filter(({ above }) => above < used.input_tokens).at(-1) ?? {};
  const price = (name: string): bigint => BigInt({ ...cents, ...tier }[name] ?? 0) * SCALE;
  const input = price('inputPrice');
  const has = (name: string): boolean => ({ ...cents, ...tier })[name] !== undefined;
  const written = has('cacheWritePrice') ? price('cacheWritePrice') : (input * 5n) / 4n;
  const hour = has('cacheWriteHourPrice') ? price('cacheWriteHourPrice') : input * 2n;
  const plain =
    used.input_tokens -
    used.cached_tokens -
    used.cache_write_tokens -
    used.cache_write_hour_tokens -
    used.audio_input_tokens;
  const parts: readonly (readonly [number, bigint])[] = [
    [plain, input],
    [used.cached_tokens, has('cachedInputPrice') ? price('cachedInputPrice') : input],
    [used.cache_write_tokens, written],
    [used.cache_write_hour_tokens, hour],
    [used.audio_input_tokens, has('audioInputPrice') ? price('audioInputPrice') : input],
    [used.output_tokens - used.audio_output_tokens, price('outputPrice')],
    [
      used.audio_output_tokens,
      has('audioOutputPrice') ? price('audioOutputPrice') : price('outputPrice'),
    ],
    [used.characters, price('characterPrice')],
    [used.images * 1_000_000, price('imagePrice')],
    [Math.round(used.seconds * 1_000) * 1_000, price('secondPrice')],
  ];
  const factor = BigInt(used.service_tier === null ? 1_000 : (factors[used.service_tier] ?? 1_000));
  const batch = BigInt(used.door === 'batch' ? (cents['batch'] ?? 1_000) : 1_000);
  const sum = parts.reduce((all, [count, each]) => all + BigInt(count) * each, 0n);
  const tools =
    (BigInt(used.web_searches) * price('webSearchPrice') +
      BigInt(used.code_runs) * price('codeRunPrice')) *
    1_000_000n;
  const exact = (sum * factor * batch) / 1_000_000n + tools;
  const least = price('minimumPrice') * 1_000_000n;
  const isUsed = parts.some(([count]) => count > 0) || used.web_searches + used.code_runs > 0;
  const cost = isUsed && least > exact ? least : exact;
  return (cost + SCALE / 2n) / SCALE;
}

/** Units of 1e-12 as reports write them. */
export function decimalOf(units: bigint): string {
  const digits = units.toString().padStart(13, '0');
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, '');
}
