import { applyDecorators } from '@nestjs/common';
import { ApiHideProperty, ApiQuery } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsOptional, ValidateNested } from 'class-validator';
import { Input, Text } from './field.js';
import type { Field } from './field.js';
import { GIVEN_TIME, GIVEN_TIME_MESSAGE, givenTime } from './given-time.js';

/** A range as existing clients write it: `params[beginTime]`, `params[endTime]`; both ends are included. */
export class TimeRange extends Input({
  beginTime: Text({ optional: true, pattern: GIVEN_TIME, patternMessage: GIVEN_TIME_MESSAGE }),
  endTime: Text({ optional: true, pattern: GIVEN_TIME, patternMessage: GIVEN_TIME_MESSAGE }),
}) {}

/** Reads the field `params` of a list query as a TimeRange. OpenAPI shows its two parts by `TimeRangeQuery`. */
export function TimeRangeField(): Field<TimeRange, true> {
  return applyDecorators(
    ApiHideProperty(),
    IsOptional(),
    ValidateNested({ message: 'params must be params[beginTime] and params[endTime]' }),
    Type(() => TimeRange),
  );
}

/** Documents the two parts on the route of the list. */
export function TimeRangeQuery(): MethodDecorator {
  return applyDecorators(
    ApiQuery({ name: 'params[beginTime]', required: false, type: String, example: '2026-01-31' }),
    ApiQuery({ name: 'params[endTime]', required: false, type: String, example: '2026-01-31' }),
  );
}

export interface Moments {
  readonly from: Date | undefined;
  /** The end of the range, exclusive. */
  readonly until: Date | undefined;
}

/** The range as moments; InvalidInputError for a day or time that does not exist. */
export function readTimeRange({ beginTime, endTime }: TimeRange = {}): Moments {
  return {
    from: beginTime ? givenTime('params[beginTime]', beginTime, 'start') : undefined,
    until: endTime ? givenTime('params[endTime]', endTime, 'end') : undefined,
  };
}
