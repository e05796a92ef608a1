import { MAX_TAG_CHARS, ORIGINS } from '../platform/access/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import {
  flag,
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  givenTime,
  Id,
  Input,
  integer,
  list,
  MAX_ROWS,
  nullable,
  number,
  object,
  OneOf,
  Text,
  text,
  View,
  Whole,
} from '../platform/http/index.js';
import { anyOf, msg } from '../platform/message/index.js';
import { AUXILIARY_KINDS, FEATURES } from './usage.entry.js';

/** The groups of a report. */
export const GROUPS = [
  'day',
  'hour',
  'user',
  'key',
  'group',
  'tag',
  'model',
  'provider',
  'agent',
  'door',
  'feature',
  'kind',
] as const;
export type UsageGroup = (typeof GROUPS)[number];

export const KINDS = [
  ...['chat', 'embedding', 'rerank', 'media', 'transcript', 'moderation', 'search'],
  ...AUXILIARY_KINDS,
] as const;

const MAX_GROUP_COUNT = 2;
const USUAL_DAYS = 30;

const ownFields = {
  from: Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    description: `Start of the report; ${USUAL_DAYS} days ago when absent`,
    example: '2026-01-01',
  }),
  to: Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    description: 'Last second or day of the report; now when absent',
    example: '2026-01-31',
  }),
  apiKeyId: Id({ optional: true }),
  modelId: Id({ optional: true }),
  providerCode: Text({ optional: true, max: 50 }),
  agentId: Id({ optional: true }),
  door: OneOf(ORIGINS, { optional: true }),
  feature: OneOf(FEATURES, { optional: true }),
  groupId: Id({ optional: true, description: 'Calls of members of the group' }),
  tag: Text({ optional: true, max: MAX_TAG_CHARS, description: 'Calls with the tag' }),
  kind: OneOf(KINDS, {
    optional: true,
    description:
      'Absent: all but lookup (looks at the tasks of media) and count (counts of tokens), which cost nothing',
  }),
};

const groupFields = {
  groupBy: Text({
    optional: true,
    max: 40,
    description: `One or two of ${GROUPS.join(', ')}, separated by a comma; day when absent. A call counts for each of its groups and tags, and once in the total`,
    example: 'day,model',
  }),
  limit: Whole({
    optional: true,
    min: 1,
    max: MAX_ROWS,
    description: 'Rows at most',
  }),
};

const ofOthers = { userId: Id({ optional: true }) };

export class OwnUsageQuery extends Input({ ...ownFields, ...groupFields }) {}
export class UsageQuery extends Input({ ...ownFields, ...groupFields, ...ofOthers }) {}
export class OwnUsageExportQuery extends Input(ownFields) {}
export class UsageExportQuery extends Input({ ...ownFields, ...ofOthers }) {}

/** What is charged back; user when absent. */
export const CHARGE_GROUPS = ['user', 'key', 'group', 'tag', 'model', 'agent'] as const;

const CHARGE_FORMATS = ['csv', 'xlsx'] as const;

export class ChargeQuery extends Input({
  month: Text({
    optional: true,
    pattern: /^\d{4}-(0[1-9]|1[0-2])$/,
    patternMessage: msg`must be a month such as 2026-01`,
    description: 'This month when absent',
    example: '2026-01',
  }),
  groupBy: OneOf(CHARGE_GROUPS, { optional: true, description: 'user when absent' }),
  format: OneOf(CHARGE_FORMATS, { optional: true, description: 'csv when absent' }),
}) {}

/** The calls of a month in the time zone TZ. */
export function monthOf({ month }: ChargeQuery): { readonly month: string } & UsageFilter {
  const now = new Date();
  const [year = now.getFullYear(), number = now.getMonth() + 1] =
    month?.split('-').map(Number) ?? [];
  return {
    month: `${year}-${String(number).padStart(2, '0')}`,
    from: new Date(year, number - 1, 1),
    until: new Date(year, number, 1),
  };
}

/** The filters of a report; `until` is exclusive. */
export interface UsageFilter extends Pick<
  UsageExportQuery,
  | 'userId'
  | 'apiKeyId'
  | 'modelId'
  | 'providerCode'
  | 'agentId'
  | 'door'
  | 'feature'
  | 'groupId'
  | 'tag'
  | 'kind'
> {
  readonly from: Date;
  readonly until: Date;
}

export function filterOf(query: UsageExportQuery): UsageFilter {
  const { from, to, ...filter } = query;
  const start = new Date();
  start.setHours(0, 0, 0, 0);
  start.setDate(start.getDate() - USUAL_DAYS + 1);
  return {
    ...filter,
    from: from ? givenTime('from', from, 'start') : start,
    until: to ? givenTime('to', to, 'end') : new Date(Date.now() + 1_000),
  };
}

/** InvalidInputError for a group that there is not. */
export function groupsOf({ groupBy }: Pick<OwnUsageQuery, 'groupBy'>): readonly UsageGroup[] {
  const names = [...new Set((groupBy || 'day').split(',').map((name) => name.trim()))];
  const groups = names.flatMap((name) => GROUPS.filter((group) => group === name));
  if (groups.length < names.length || groups.length > MAX_GROUP_COUNT) {
    throw new InvalidInputError(msg`groupBy must be one or two of ${anyOf(GROUPS)}.`);
  }
  return groups;
}

class CostView extends View({
  currency: text({ example: 'USD' }),
  cost: text({ example: '0.00125', description: 'Exact' }),
  estimatedCost: nullable(text({ description: 'The part of calls with estimated counts' })),
}) {}

const figures = {
  calls: integer({ description: 'Calls of model services, each attempt counted' }),
  failures: integer({ description: 'Of those, the ones that failed' }),
  aborts: integer({ description: 'Of those, the ones that were ended early' }),
  estimates: integer({ description: 'Of those, the ones with estimated counts' }),
  unpriced: integer({
    description: 'Of those, the ones that used something without a price: costs lack it',
  }),
  inputTokens: integer({ description: 'Cached ones included' }),
  outputTokens: integer({ description: 'Those of thinking included' }),
  cachedTokens: integer(),
  reasoningTokens: integer(),
  cacheWriteTokens: integer({
    description: 'Of inputTokens: written to the cache of the service for 5 minutes',
  }),
  cacheWriteHourTokens: integer({ description: 'The same for an hour' }),
  audioInputTokens: integer({ description: 'Of inputTokens' }),
  audioOutputTokens: integer({ description: 'Of outputTokens' }),
  webSearches: integer({ description: 'Made by the service' }),
  codeRuns: integer({ description: 'Runs of code, or containers for it, of the service' }),
  images: integer(),
  seconds: number({ description: 'Of video' }),
  characters: integer({ description: 'Of spoken texts' }),
  cost: nullable(
    text({
      example: '0.00125',
      description:
        'Exact, in the currency of the installation; null: nothing in it had a price in that',
    }),
  ),
  costs: list(CostView, { description: 'By currency, that of the installation first' }),
  serviceCost: nullable(
    text({ description: 'As the services themselves stated it, in US dollars; null: none did' }),
  ),
  firstTokenMs: nullable(number({ description: 'Mean time to the first token' })),
  durationMs: nullable(number({ description: 'Mean duration' })),
};

export class UsageKeyView extends View({
  by: text({ example: 'day' }),
  key: nullable(
    text({ example: '2026-01-31', description: 'The id, or the value itself; null: none' }),
  ),
  name: nullable(text({ description: 'The latest name, also of what was deleted' })),
}) {}

export class UsageRowView extends View({
  groups: list(UsageKeyView, { description: 'One for each group of the report' }),
  ...figures,
}) {}

export class UsageTotalView extends View(figures) {}

/** The report; its message says so when the limit has left groups out. */
export class UsageView extends View({
  total: object(UsageTotalView),
  rows: list(UsageRowView, {
    description: 'By time where that is a group, else the most calls first',
  }),
  more: flag({ description: 'The limit has left groups out' }),
}) {}
