import {
  BasedOnRevision,
  Flag,
  flag,
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  Id,
  Input,
  localized,
  nullable,
  OneOf,
  oneOf,
  pageFields,
  recordId,
  recordRevision,
  Text,
  text,
  time,
  UUID,
  uuid,
  View,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { FIRE_STATES, MISSED, SCHEDULE_KINDS } from './schedule.entity.js';
import type { FireState, Missed, Schedule, ScheduleFire, ScheduleKind } from './schedule.entity.js';

const MAX_MESSAGE_CHARS = 200_000;

export class ScheduleListQuery extends Input({
  ...pageFields('id', 'name', 'kind', 'nextDue', 'createTime', 'updateTime'),
  name: Text({ optional: true, max: 100, description: 'Part of the name' }),
}) {}

export class FireListQuery extends Input({
  ...pageFields('id', 'scheduleId', 'dueTime', 'state'),
  scheduleId: Id({ optional: true }),
}) {}

const timesFields = {
  cron: Text({
    optional: true,
    max: 100,
    description: 'Five fields: minute, hour, day, month, day of the week. Either cron or at',
    example: '0 6 * * 1-5',
  }),
  at: Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    description: 'The one time',
    example: '2030-12-31 06:00:00',
  }),
  timeZone: Text({
    optional: true,
    max: 64,
    description: 'Zone of cron; default: that of the service',
    example: 'Europe/Berlin',
  }),
  missed: OneOf(MISSED, {
    optional: true,
    description:
      'What happens with times that passed while the service was stopped. once, the default: one is made up for; skip: none',
  }),
};

const taskFields = {
  message: Text({
    max: MAX_MESSAGE_CHARS,
    description: 'What is asked, or the requirement of the run',
    example: 'Summarize the new tickets.',
  }),
  model: Text({
    optional: true,
    max: 200,
    description: 'modelName of a chat model; default: as for a message or a run without it',
  }),
  agentId: Id({ optional: true, description: 'chat: the agent that answers' }),
  knowledgeId: Id({ optional: true, description: 'chat: a knowledge base' }),
  harnessSessionId: Text({
    optional: true,
    pattern: UUID,
    patternMessage: msg`must be a UUID`,
    description: 'run: the session of the harness in which the runs begin',
  }),
};

const name = Text({ max: 100, example: 'Morning report' });

export class NewScheduleDto extends Input({
  name,
  kind: OneOf(SCHEDULE_KINDS, {
    description: 'chat: a message in a new chat; run: a run in a session of the harness',
  }),
  ...taskFields,
  ...timesFields,
}) {}

/** Task and times are replaced as a whole. */
export class ChangedScheduleDto extends Input({
  id: Id(),
  revision: BasedOnRevision(),
  name,
  ...taskFields,
  ...timesFields,
}) {}

export class PauseScheduleDto extends Input({
  paused: Flag({ description: 'Whether its times pass without effect' }),
}) {}

export class ScheduleView extends View({
  id: recordId(),
  name: text({ example: 'Morning report' }),
  kind: oneOf<ScheduleKind>(SCHEDULE_KINDS),
  message: text(),
  model: nullable(text()),
  agentId: nullable(recordId()),
  knowledgeId: nullable(recordId()),
  harnessSessionId: nullable(uuid()),
  cron: nullable(text({ example: '0 6 * * 1-5' })),
  timeZone: nullable(text({ example: 'Europe/Berlin' })),
  missed: oneOf<Missed>(MISSED),
  paused: flag(),
  nextDue: nullable(time({ description: 'Null: no time is to come' })),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {
  static from(schedule: Schedule): ScheduleView {
    const { message, model, agentId, knowledgeId, harnessSessionId } = schedule.task;
    return ScheduleView.of(schedule, {
      message,
      model: model ?? null,
      agentId: agentId ?? null,
      knowledgeId: knowledgeId ?? null,
      harnessSessionId: harnessSessionId ?? null,
    });
  }
}

export class ScheduleFireView extends View({
  id: recordId(),
  scheduleId: recordId(),
  dueTime: time(),
  state: oneOf<FireState>(FIRE_STATES, {
    description:
      'done: the message is answered, or the run has begun; waiting: a tool of the answer waits for consent; refused: the owner lacks a right; skipped: it was missed, or the one before had not ended',
  }),
  failure: nullable(text({ description: 'Why it failed, was refused or skipped' })),
  chatSessionId: nullable(recordId({ description: 'The chat with the answer' })),
  runId: nullable(uuid({ description: 'The run of the harness' })),
  endTime: nullable(time()),
}) {
  static from(fire: ScheduleFire): ScheduleFireView {
    return ScheduleFireView.of(fire, { failure: localized(fire.failure) });
  }
}
