import { language } from '../i18n';

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Formats bytes in powers of 1,024: 1536 as "1.5 kB". */
export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), UNITS.length - 1);
  return `${number(value / 1_024 ** power, power === 0 ? 0 : 1)} ${UNITS[power] ?? 'B'}`;
}

/** Formats a number: 1234567 as "1,234,567" in English. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString(language(), { maximumFractionDigits: digits });
}

/** Formats a number compactly: 1234567 as "1.2M" in English, 123万 in Chinese. */
export function shortNumber(value: number): string {
  return value.toLocaleString(language(), { notation: 'compact', maximumFractionDigits: 1 });
}

/** Formats a duration as "420 ms", "3.2 s" or "2 min 5 s". */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${number(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${number(milliseconds / 1_000, 1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return `${number(Math.floor(seconds / 60))} min ${number(seconds % 60)} s`;
}
