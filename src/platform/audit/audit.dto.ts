import { Id, PageQuery, Text, TimeRange, TimeRangeField } from '../http/index.js';

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

  @TimeRangeField()
  params?: TimeRange;
}
