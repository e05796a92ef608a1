import { Text, Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';
import { language } from '../i18n';

/** Time zone of the service's times, which contain no zone. */
let zone = 'UTC';

/** Set with the signed-in user, before any page shows a time. */
export function setTimeZone(name: string): void {
  zone = name;
}

/** Parses a time of the service, `yyyy-MM-dd HH:mm:ss` in its zone, or an ISO time. */
export function momentOf(text: string): Date {
  if (text.includes('T')) return new Date(text);
  const asUtc = new Date(`${text.replace(' ', 'T')}Z`);
  return new Date(asUtc.getTime() - offsetOf(asUtc));
}

/** Offset of the service's zone from UTC at about that time. */
function offsetOf(moment: Date): number {
  if (zone === 'UTC') return 0;
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(moment);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return local - Math.floor(moment.getTime() / 1_000) * 1_000;
}

const DAY_MS = 24 * 60 * 60_000;

/** The date the given number of days ago, in the service's format and zone. */
export function dayBefore(days: number): string {
  const now = new Date();
  return new Date(now.getTime() + offsetOf(now) - days * DAY_MS).toISOString().slice(0, 10);
}

const STEPS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

export function relative(moment: Date, now = Date.now()): string {
  const seconds = (moment.getTime() - now) / 1_000;
  const words = new Intl.RelativeTimeFormat(language(), { numeric: 'auto' });
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return words.format(Math.round(seconds / length), unit);
  }
  return words.format(0, 'second');
}

export function absolute(moment: Date): string {
  return moment.toLocaleString(language(), { dateStyle: 'medium', timeStyle: 'medium' });
}

const REFRESH_MS = 30_000;

interface Props {
  /** Formats a time of the service; null as a dash. */
  readonly value: string | null | undefined;
  readonly size?: 'xs' | 'sm';
}

/** Shows "3 minutes ago" with the exact time in the reader's zone as a tooltip. */
export function Time({ value, size = 'sm' }: Props) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((count) => count + 1), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  if (!value)
    return (
      <Text span size={size} c="dimmed">
        –
      </Text>
    );
  const moment = momentOf(value);
  return (
    <Tooltip label={absolute(moment)}>
      <Text span size={size} c="dimmed" component="time" dateTime={moment.toISOString()}>
        {relative(moment)}
      </Text>
    </Tooltip>
  );
}
