import { format, getFormatFromId, tokenize } from 'numfmt';

type Token = ReturnType<typeof tokenize>[number];

/** Day 0 of the two calendars of Excel. */
export const EPOCH_1900 = Date.UTC(1899, 11, 30);
export const EPOCH_1904 = Date.UTC(1904, 0, 1);

const DAY_MS = 86_400_000;

/** The dates among the formats that are not in the file, in the locales that have their own (ECMA-376 part 1, 18.8.30). */
const BUILT_IN_DATES: readonly (readonly [number, number])[] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
  [71, 81],
];

const ELAPSED_HOURS = 46;

/** The format of a cell by its number, for those that are not in the file. */
export function builtInFormat(id: number): string {
  if (id === ELAPSED_HOURS) return '[h]:mm:ss';
  if (BUILT_IN_DATES.some(([first, last]) => id >= first && id <= last)) return 'yyyy-mm-dd';
  return getFormatFromId(id);
}

/** Longer ones are no formats of a program; Excel has 255 characters. */
const MAX_FORMAT_CHARS = 1_000;

type Kind = 'general' | 'percentage' | 'date' | 'duration' | 'number';

/** A part of a format, for positive or negative numbers, zero or texts. */
interface Section {
  readonly tokens: readonly Token[];
  readonly condition: ((value: number) => boolean) | undefined;
}

interface CellFormat {
  readonly code: string;
  readonly kind: Kind;
  readonly sections: readonly Section[];
  readonly texts: readonly Token[] | undefined;
}

const formatCache = new Map<string, CellFormat>();

/** A file may have thousands of formats; what is kept of them is bounded. */
const MAX_KNOWN_FORMATS = 5_000;

/**
 * A number as a reader of the sheet knows it: dates, times and durations by ISO 8601, all digits of a number, what a
 * format adds to it (PX-4711, 01234, 12.5 days), but no separators of thousands. Not rounded, whatever is shown.
 */
export function shownNumber(value: number, code: string, epoch: number): string {
  const valueFormat = cellFormat(code);
  if (valueFormat.kind === 'duration') return durationOf(value);
  if (valueFormat.kind === 'date') return dateOf(value, epoch);
  if (valueFormat.kind === 'percentage') return `${digitsOf(value * 100)}%`;
  return valueFormat.kind === 'general' ? digitsOf(value) : written(value, valueFormat);
}

/** A text with what its format adds. */
export function shownText(text: string, code: string): string {
  const { texts } = cellFormat(code);
  if (!texts?.some(isText) || text === '') return text;
  return texts.map((token) => (token.type === 'TEXT' ? text : literalOf(token))).join('');
}

function cellFormat(code: string): CellFormat {
  const cachedFormat = formatCache.get(code);
  if (cachedFormat) return cachedFormat;
  const read = readFormat(code);
  if (formatCache.size < MAX_KNOWN_FORMATS) formatCache.set(code, read);
  return read;
}

function readFormat(code: string): CellFormat {
  const general = { code, kind: 'general', sections: [], texts: undefined } as const;
  if (code === '' || code.length > MAX_FORMAT_CHARS || /^general$/i.test(code)) return general;
  let tokens: readonly Token[];
  try {
    tokens = tokenize(code);
  } catch {
    return { ...general, kind: kindOfFormat(code, []) };
  }
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (token.type === 'BREAK') parts.push([]);
    else parts.at(-1)?.push(token);
  }
  const texts = parts.find((part) => part.some(({ type }) => type === 'TEXT'));
  const sections = parts
    .filter((part) => part !== texts)
    .slice(0, 3)
    .map((part) => ({ tokens: part, condition: conditionOf(part) }));
  return { code, kind: kindOfFormat(code, sections), sections, texts };
}

/** Kind of a format by its first section, which applies to positive numbers. */
function kindOfFormat(code: string, sections: readonly Section[]): Kind {
  const bare = code.replace(/\\.|_.|\*.|"[^"]*"?/g, ' ').toLowerCase();
  const [section = ''] = bare.split(';');
  if (/\[(?:h+|m+|s+)\]/.test(section)) return 'duration';
  const tokens = section.replace(/\[[^\]]*\]/g, ' ').replace(/am\/pm|a\/p|general|standard/g, ' ');
  if (tokens.includes('%')) return 'percentage';
  if (/[#?]|e[+-]/.test(tokens)) return sections.length > 0 ? 'number' : 'general';
  if (/[dmyhs]/.test(tokens)) return 'date';
  return sections.length > 0 ? 'number' : 'general';
}

function conditionOf(tokens: readonly Token[]): Section['condition'] {
  const raw = tokens.find(({ type }) => type === 'CONDITION')?.raw ?? '';
  const [, operator = '', limit = ''] = /^\[?(<=|>=|<>|<|>|=)\s*(-?[\d.]+)\]?$/.exec(raw) ?? [];
  const bound = Number(limit);
  if (operator === '') return undefined;
  return (value) => {
    if (operator === '<') return value < bound;
    if (operator === '>') return value > bound;
    if (operator === '<=') return value <= bound;
    if (operator === '>=') return value >= bound;
    return (value === bound) === (operator === '=');
  };
}

function sectionFor(value: number, sections: readonly Section[]): Section | undefined {
  if (sections.some(({ condition }) => condition)) {
    return sections.find(({ condition }) => condition?.(value) ?? true);
  }
  const [positive, negative = positive, zero = positive] = sections;
  if (value === 0) return zero;
  return value < 0 ? negative : positive;
}

function written(value: number, valueFormat: CellFormat): string {
  const digits = digitsOf(value);
  const section = sectionFor(value, valueFormat.sections);
  if (!section) return digits;
  const { tokens } = section;
  const first = tokens.findIndex(isPlaceholder);
  if (first === -1) return words(value, valueFormat) ?? digits;
  const types = new Set(tokens.map(({ type }) => type));
  // Parts of a thousand, fractions and powers of ten show other digits than those of the value.
  if (['SCALE', 'SLASH', 'EXP', 'PERCENT'].some((type) => types.has(type as Token['type']))) {
    return digits;
  }
  if (isCode(tokens, first)) {
    const displayText = shownBy(valueFormat, value);
    if (displayText !== undefined && hasAllDigits(displayText, value)) return displayText;
  }
  const last = tokens.findLastIndex(isPlaceholder);
  const before = tokens.slice(0, first).map(unitOf).join('').trimStart();
  const after = tokens
    .slice(last + 1)
    .map(unitOf)
    .join('')
    .trimEnd();
  const sign = value < 0 ? '-' : '';
  return `${sign}${before}${sign === '' ? digits : digits.slice(1)}${after}`;
}

/** Text that a format shows instead of the number, such as Yes for 1 and No for 0. */
function words(value: number, valueFormat: CellFormat): string | undefined {
  const displayText = shownBy(valueFormat, value);
  return displayText !== undefined && /[\p{L}\p{N}]/u.test(displayText) ? displayText : undefined;
}

function shownBy({ code }: CellFormat, value: number): string | undefined {
  try {
    return format(code, value).trim();
  } catch {
    return undefined;
  }
}

/** Whether the format shows a code: leading zeros, or characters before or among the digits. */
function isCode(tokens: readonly Token[], first: number): boolean {
  const point = tokens.findIndex(({ type }) => type === 'POINT');
  const whole = tokens.slice(0, point === -1 ? undefined : point);
  if (whole.some(({ type }) => type === 'GROUP')) return false;
  if (whole.filter(({ type }) => type === 'ZERO').length > 1) return true;
  const last = whole.findLastIndex(isPlaceholder);
  const among = whole.slice(first, last + 1).some((token) => !isPlaceholder(token));
  const attached = tokens[first - 1];
  return (
    among || (attached !== undefined && isText(attached) && /[-/\p{L}]$/u.test(literalOf(attached)))
  );
}

/** A format may round a number or cut it to what it has places for; then its digits say more. */
function hasAllDigits(displayText: string, value: number): boolean {
  const digits = digitsOf(Math.abs(value))
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  return displayText.replace(/\D/g, '').includes(digits);
}

function isPlaceholder({ type }: Token): boolean {
  return ['ZERO', 'HASH', 'QMARK', 'DIGIT', 'GENERAL', 'POINT', 'GROUP'].includes(type);
}

function isText({ type }: Token): boolean {
  return type === 'STRING' || type === 'ESCAPED';
}

/** Unit beside a number; signs and the brackets of negative numbers are not units. */
function unitOf(token: Token): string {
  if (token.type === 'ESCAPED' && /[-+()]/.test(token.value)) return '';
  return literalOf(token);
}

function literalOf({ type, value }: Token): string {
  switch (type) {
    case 'STRING':
    case 'ESCAPED':
      return value;
    case 'SPACE':
      return ' ';
    case 'LOCALE':
      // The currency of a country: €-407
      return value.replace(/-[\dA-Fa-f]*$/, '').replace(/^-.*$/, '');
    default:
      return '';
  }
}

/** Excel computes and shows 15 digits. */
export function digitsOf(value: number): string {
  return String(Number(value.toPrecision(15)));
}

/** ISO 8601 without zone, which spreadsheets do not have; a number below 1 is a time of day. */
function dateOf(serial: number, epoch: number): string {
  // Rounded to whole seconds, because a fraction of a day is not exact.
  const at = new Date(epoch + Math.round((serial * DAY_MS) / 1_000) * 1_000);
  if (Number.isNaN(at.getTime())) return String(serial);
  const [date = '', time = ''] = at.toISOString().slice(0, -5).split('T');
  if (serial >= 0 && serial < 1) return time;
  return time === '00:00:00' ? date : `${date}T${time}`;
}

/** Hours, minutes and seconds; 36:00:00 for a day and a half. */
function durationOf(serial: number): string {
  const seconds = Math.round(Math.abs(serial) * (DAY_MS / 1_000));
  const parts = [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map((part) =>
    String(Math.floor(part)).padStart(2, '0'),
  );
  return `${serial < 0 ? '-' : ''}${parts.join(':')}`;
}
