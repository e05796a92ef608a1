import { Injectable } from '@nestjs/common';
import { mayAny } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Database } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { ChatTurn, SessionService } from '../chat/index.js';
import { RunService } from '../harness/index.js';
import type { Schedule, ScheduleFire } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';

export const RIGHTS_LOST = msg`The owner of the schedule is disabled, or may no longer do this. The permissions chat:schedule:add and, for runs, coding:harness:use are needed.`;
const STOPPED = msg`The answer was stopped before its end. The chat has what was written.`;

/** What schedules do. Each answers false where the work is not at its end, and another attempt must look again. */
@Injectable()
export class ScheduledWork {
  constructor(
    private readonly repository: ScheduleRepository,
    private readonly database: Database,
    private readonly sessions: SessionService,
    private readonly turn: ChatTurn,
    private readonly runs: RunService,
  ) {}

  /** Sends the message in a chat of its own. */
  async chat(caller: Caller, { name, task }: Schedule, fire: ScheduleFire): Promise<boolean> {
    const { message: content, model, agentId, knowledgeId } = task;
    const sessionId = fire.chatSessionId ?? (await this.makeChat(caller, name, fire));
    const body = { content, sessionId, model, agentId, knowledgeId };
    const answer = await this.turn.answerUnread(caller, body, keyOf(fire));
    if (answer === undefined) return false;
    if (answer.state === 'complete') await this.repository.end(fire, 'done');
    else if (answer.state === 'waiting') await this.repository.end(fire, 'waiting');
    else await this.repository.end(fire, 'failed', { failure: answer.error ?? STOPPED });
    return true;
  }

  /** Begins a run in the session of the schedule. */
  async run(caller: Caller, { task }: Schedule, fire: ScheduleFire): Promise<boolean> {
    const { message: requirement, model, harnessSessionId = '' } = task;
    if (!mayAny(caller, ['coding:harness:use'])) {
      await this.repository.end(fire, 'refused', { failure: RIGHTS_LOST });
      return true;
    }
    const session = await this.runs.sessionOf(caller, harnessSessionId);
    const body = { requirement, model, idempotencyKey: keyOf(fire) };
    const { runId } = await this.runs.create(caller, session, body);
    await this.repository.end(fire, 'done', { runId });
    return true;
  }

  private async makeChat(caller: Caller, name: string, fire: ScheduleFire): Promise<number> {
    return this.database.transaction(async () => {
      const body = { sessionTitle: name, temporary: false };
      const sessionId = Number(await this.sessions.create(caller, body));
      await this.repository.setChat(fire, sessionId);
      return sessionId;
    });
  }
}

function keyOf({ id }: ScheduleFire): string {
  return `schedule-${id}`;
}
