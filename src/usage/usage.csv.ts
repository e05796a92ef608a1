import { sheetOf, wireTime, workbook } from '../platform/http/index.js';
import type { ColumnsOf } from '../platform/http/index.js';
import type { Charge, ExportedCall, ExportedValue } from './usage.repository.js';

/** Marks UTF-8 for spreadsheets. */
const BOM = '\uFEFF';
/**
 * Characters that a spreadsheet may take for the start of a formula (OWASP, CSV Injection): also in full width, and behind what some take
 * for the end of a cell, such as a semicolon where that separates lists.
 */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]|(?<=[;\t\r\n] *)[=+\-@＝＋－＠]/g;
const SPECIAL = /[",\r\n]/;

const COLUMNS = [
  'id',
  'callTime',
  'userId',
  'userName',
  'apiKeyId',
  'apiKeyName',
  'door',
  'feature',
  'agentId',
  'agentName',
  'askedModel',
  'modelId',
  'modelName',
  'providerCode',
  'kind',
  'attempt',
  'outcome',
  'calls',
  'failures',
  'aborts',
  'estimates',
  'unpriced',
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'reasoningTokens',
  'cacheWriteTokens',
  'cacheWriteHourTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'webSearches',
  'codeRuns',
  'serviceTier',
  'images',
  'seconds',
  'characters',
  'cost',
  'currency',
  'serviceCost',
  'serviceCurrency',
  'priceVersion',
  'firstTokenMs',
  'durationMs',
  'groupIds',
  'groupNames',
  'tags',
] as const;

/** The rows of the usage ledger as CSV. */
export function csvOf(pages: AsyncIterable<readonly ExportedCall[]>): AsyncGenerator<string> {
  return csvWith(COLUMNS, pages);
}

/** A charge, or the sum of all in its currency, as a line of the charge-back. */
type ChargeLine = { readonly line: 'charge' | 'sum' } & Charge;

const CHARGE_COLUMNS = {
  line: ['Line', { charge: 'Charge', sum: 'Sum' }],
  key: 'Id',
  name: 'Name',
  currency: 'Currency',
  cost: ['Cost', asNumber],
  estimatedCost: ['Of it estimated', asNumber],
  calls: 'Calls',
  unpriced: 'Calls without a price',
  estimates: 'Estimated calls',
  failures: 'Failed calls',
  inputTokens: 'Input tokens',
  cachedTokens: 'Cached tokens',
  cacheWriteTokens: 'Cache writes, 5 minutes',
  cacheWriteHourTokens: 'Cache writes, 1 hour',
  outputTokens: 'Output tokens',
  audioInputTokens: 'Audio input tokens',
  audioOutputTokens: 'Audio output tokens',
  webSearches: 'Web searches',
  codeRuns: 'Code runs',
  images: 'Images',
  seconds: 'Seconds',
  characters: 'Characters',
  serviceCost: ['Cost as services state it (USD)', asNumber],
} as const satisfies ColumnsOf<ChargeLine>;

function asNumber(amount: string | null): number | null {
  return amount === null ? null : Number(amount);
}

/** The charges of a month and then their sums, as CSV or as a workbook. */
export function chargeFile(
  month: string,
  { charges, sums }: { readonly charges: readonly Charge[]; readonly sums: readonly Charge[] },
  format: 'csv' | 'xlsx',
): AsyncGenerator<string | Uint8Array> {
  async function* pages(): AsyncGenerator<readonly ChargeLine[]> {
    yield charges.map((charge) => ({ line: 'charge', ...charge }));
    yield await Promise.resolve(sums.map((sum) => ({ line: 'sum', ...sum })));
  }
  if (format === 'csv')
    return csvWith(Object.keys(CHARGE_COLUMNS) as (keyof ChargeLine)[], pages());
  const unpriced = sums.reduce((all, sum) => all + sum.unpriced, 0);
  const note =
    unpriced > 0
      ? `${unpriced} calls used something without a price, which the sums lack.`
      : undefined;
  return workbook(sheetOf<ChargeLine>(`Charges ${month}`, CHARGE_COLUMNS), pages(), () => note);
}

/** The rows as CSV (RFC 4180), with a header. What may be the begin of a formula gets an apostrophe before it. */
async function* csvWith<Row>(
  columns: readonly (keyof Row & string)[],
  pages: AsyncIterable<readonly Row[]>,
): AsyncGenerator<string> {
  yield `${BOM}${columns.join(',')}\r\n`;
  for await (const rows of pages) {
    yield rows
      .map(
        (row) => `${columns.map((column) => cellOf(row[column] as ExportedValue)).join(',')}\r\n`,
      )
      .join('');
  }
}

function cellOf(value: ExportedValue): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = value instanceof Date ? wireTime(value) : value;
  const safe = text.replaceAll(FORMULA, "'$&");
  return SPECIAL.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
