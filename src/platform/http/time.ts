import { applyDecorators } from '@nestjs/common';
import { ApiHideProperty, ApiQuery } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { msg, phrase } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';
import { Input, Text } from './field.js';
import type { Field } from './field.js';
import { Nested } from './strict-fields.js';

/** Times on the wire are `yyyy-MM-dd HH:mm:ss` in the process' time zone, which the configuration sets. */
export function wireTime(date: Date): string;
export function wireTime(date: Date | null | undefined): string | null;
export function wireTime(date: Date | null | undefined): string | null {
  if (!date) return null;
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A time in the format of the wire, or a day. */
export const GIVEN_TIME = /^(\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?)?$/;
export const GIVEN_TIME_MESSAGE = phrase`must be a time like 2026-01-31 18:30:00, or a day`;

/**
 * Reads a time in the zone that times on the wire are in: its start or, as the end of a range, the first
 * moment after that second or day.
 */
export function givenTime(field: string, text: string, edge: 'start' | 'end'): Date {
  const [day, time = edge === 'start' ? '00:00:00' : '23:59:59'] = text.split(' ');
  const read = new Date(`${day}T${time}`);
  if (Number.isNaN(read.getTime()))
    throw new InvalidInputError(msg`${field}: there is no ${text}.`);
  return edge === 'end' ? new Date(read.getTime() + 1_000) : read;
}

const TIME = { optional: true, pattern: GIVEN_TIME, patternMessage: GIVEN_TIME_MESSAGE } as const;

/**
 * A range as existing clients write it: `params[beginTime]`, `params[endTime]`; both ends are included. The list of files
 * of the existing console says `params[beginCreateTime]` and `params[endCreateTime]`.
 */
export class TimeRange extends Input({
  beginTime: Text(TIME),
  endTime: Text(TIME),
  beginCreateTime: Text(TIME),
  endCreateTime: Text(TIME),
}) {}

/** Reads the field `params` of a list query as a TimeRange. OpenAPI shows its two parts by `TimeRangeQuery`. */
export function TimeRangeField(): Field<TimeRange, true> {
  return applyDecorators(
    ApiHideProperty(),
    IsOptional(),
    Nested(() => TimeRange, {
      message: msg`params must be params[beginTime] and params[endTime]`,
    }),
  );
}

/** Documents the two parts on the route of the list. */
export function TimeRangeQuery(): MethodDecorator {
  return applyDecorators(
    ApiQuery({ name: 'params[beginTime]', required: false, type: String, example: '2026-01-31' }),
    ApiQuery({ name: 'params[endTime]', required: false, type: String, example: '2026-01-31' }),
  );
}

interface Moments {
  readonly from: Date | undefined;
  /** The end of the range, exclusive. */
  readonly until: Date | undefined;
}

/** The range as moments, null as none; InvalidInputError for a day or time that does not exist. */
export function readTimeRange(range: TimeRange | null | undefined): Moments {
  const begin = range?.beginTime || range?.beginCreateTime;
  const end = range?.endTime || range?.endCreateTime;
  return {
    from: begin ? givenTime('params[beginTime]', begin, 'start') : undefined,
    until: end ? givenTime('params[endTime]', end, 'end') : undefined,
  };
}
