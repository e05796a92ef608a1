import { language } from '../i18n';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Formats a duration: 604800 seconds as "7 days", 5400 as "1 hour 30 minutes". */
export function span(seconds: number): string {
  const words: string[] = [];
  let remainingSeconds = seconds;
  for (const [unit, length] of UNITS) {
    const count = Math.floor(remainingSeconds / length);
    remainingSeconds -= count * length;
    if (count > 0 && words.length < 2) {
      words.push(count.toLocaleString(language(), { style: 'unit', unit, unitDisplay: 'long' }));
    }
  }
  return words.join(' ');
}
