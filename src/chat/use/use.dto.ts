import {
  Input,
  integer,
  list,
  nullable,
  number,
  recordId,
  text,
  time,
  View,
  Whole,
} from '../../platform/http/index.js';

/** Maximum days of a use report: enough for a quarter. */
const MAX_DAYS = 92;
const USUAL_DAYS = 14;

export class UseQuery extends Input({
  days: Whole({
    optional: true,
    min: 1,
    max: MAX_DAYS,
    description: `Days up to today; ${USUAL_DAYS} when absent`,
  }),
}) {}

export const daysOf = ({ days }: UseQuery): number => days ?? USUAL_DAYS;

const figures = {
  turns: integer({ description: 'Answers that have ended' }),
  failures: integer({ description: 'Of those, the ones that failed' }),
  inputTokens: integer({ description: 'Tokens read, where they are known' }),
  outputTokens: integer({ description: 'Tokens written, where they are known' }),
  firstTokens: integer({ description: 'Answers with a first token' }),
  firstTokenMs: nullable(
    number({ description: 'Mean milliseconds to the first token; null where there was none' }),
  ),
};

export class DayUseView extends View({
  day: text({ example: '2026-01-31', description: 'In the zone of TZ' }),
  ...figures,
}) {}

export class ModelUseView extends View({
  modelName: nullable(text({ example: 'gpt-4o-mini', description: 'null: no model was found' })),
  providerCode: nullable(
    text({ example: 'custom_api', description: 'null: there is no such model any more' }),
  ),
  ...figures,
}) {}

export class TurnFailureView extends View({
  id: recordId({ description: 'The answer' }),
  modelName: nullable(text()),
  error: nullable(text({ example: 'The model service refused the key.' })),
  createTime: time(),
}) {}

export class UseView extends View({
  days: list(DayUseView, { description: 'Oldest first, days without a turn included' }),
  models: list(ModelUseView, { description: 'Most turns first, at most 20' }),
  failures: list(TurnFailureView, { description: 'Newest first, at most 10' }),
}) {}
