import { wireTime } from '../platform/http/index.js';
import type { ExportedCall, ExportedValue } from './usage.repository.js';

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
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'reasoningTokens',
  'images',
  'seconds',
  'characters',
  'cost',
  'priceVersion',
  'firstTokenMs',
  'durationMs',
] as const;

/** The rows as CSV (RFC 4180), with a header. What may be the begin of a formula gets an apostrophe before it. */
export async function* csvOf(
  pages: AsyncIterable<readonly ExportedCall[]>,
): AsyncGenerator<string> {
  yield `${BOM}${COLUMNS.join(',')}\r\n`;
  for await (const rows of pages) yield rows.map(lineOf).join('');
}

function lineOf(row: ExportedCall): string {
  return `${COLUMNS.map((column) => cellOf(row[column])).join(',')}\r\n`;
}

function cellOf(value: ExportedValue): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = value instanceof Date ? wireTime(value) : value;
  const safe = text.replaceAll(FORMULA, "'$&");
  return SPECIAL.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
