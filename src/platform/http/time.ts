import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { msg, phrase } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';
import { Input, Text } from './field.js';
import type { Field } from './field.js';
import { Nested } from './input.pipe.js';

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

function edgeOf(description: string): Field<string, true> {
  return Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    description,
    example: '2026-01-31',
  });
}

/**
 * A range as existing clients write it: `params[beginTime]`, `params[endTime]`; both ends are included. The list of files
 * of the existing console says `params[beginCreateTime]` and `params[endCreateTime]`.
 */
export class TimeRange extends Input({
  beginTime: edgeOf('The first time or day'),
  endTime: edgeOf('The last time or day'),
  beginCreateTime: edgeOf('The same as beginTime'),
  endCreateTime: edgeOf('The same as endTime'),
}) {}

/** The field `params` of a list, in the query or the body of its export. */
export function TimeRangeField(): Field<TimeRange, true> {
  return applyDecorators(
    ApiProperty({ type: () => TimeRange, required: false }),
    IsOptional(),
    Nested(() => TimeRange, {
      message: msg`params must be params[beginTime] and params[endTime]`,
    }),
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
