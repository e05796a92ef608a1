import { ApiHideProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsOptional, ValidateNested } from 'class-validator';
import { Id, PageQuery, Text } from '../http/index.js';

const TIME = /^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?$/;
const TIME_MESSAGE = 'must be a time like 2026-01-31 or 2026-01-31 18:30:00';

/** A range of time, both ends included; a day alone means all of it. */
export class AuditTimeRange {
  @Text({ optional: true, pattern: TIME, patternMessage: TIME_MESSAGE })
  beginTime?: string;

  @Text({ optional: true, pattern: TIME, patternMessage: TIME_MESSAGE })
  endTime?: string;
}

export class AuditListQuery extends PageQuery {
  @Text({ optional: true, max: 40, example: 'login' })
  action?: string;

  @Text({ optional: true, max: 40, example: 'provider' })
  targetType?: string;

  @Text({ optional: true, max: 64 })
  targetId?: string;

  @Id({ optional: true })
  actorId?: number;

  @Text({ optional: true, max: 64, description: 'Part of the name' })
  actorName?: string;

  /** The controller documents its two fields, as clients write them. */
  @ApiHideProperty()
  @IsOptional()
  @ValidateNested({ message: 'params must be params[beginTime] and params[endTime]' })
  @Type(() => AuditTimeRange)
  params?: AuditTimeRange;
}
