import { randomUUID } from 'node:crypto';
import { StepRepository } from '../../src/chat/step.repository.js';
import { TurnRepository } from '../../src/chat/turn.repository.js';
import type { Caller } from '../../src/platform/access/index.js';
import { inTenant } from '../../src/platform/database/index.js';
import { done } from './people.js';
import type { Plinth } from './plinth.js';
import type { Session } from './session.js';

/** Records an answer with a step of the session's user, as an agent with tools leaves it. */
export async function recordSteps(plinth: Plinth, session: Session, text: string): Promise<void> {
  interface Own {
    readonly user: { readonly userId: number; readonly tenantId: string };
  }
  const { userId, tenantId } = done(await session.get<Own>('/system/user/getInfo')).data.user;
  const caller = { userId, tenantId } as Caller;
  const turns = plinth.app.get(TurnRepository, { strict: false });
  const steps = plinth.app.get(StepRepository, { strict: false });
  const turn = { turnId: randomUUID(), content: text, modelName: 'acting' };
  await inTenant(tenantId, async () => {
    const question = { sessionId: undefined, idempotencyKey: undefined, requestHash: undefined };
    const begun = await turns.begin(caller, { ...turn, ...question });
    if (!begun) throw new Error('The turn did not begin.');
    const answer = { ...turn, questionId: begun.id, reasoning: text };
    const call = {
      ...{ number: 1, id: text, name: text, arguments: JSON.stringify({ query: text }) },
      ...({ state: 'done', summary: text, content: text, durationMs: 1 } as const),
    };
    const tokens = { inputTokens: 1, outputTokens: 1 };
    await steps.save(
      { ...answer, tenantId },
      {
        ...{ number: 1, text, reasoning: text, calls: [call], ...tokens },
        providerState: { origin: text, data: { text } },
      },
    );
    await turns.finish(caller, {
      ...answer,
      state: 'complete',
      finishReason: 'stop',
      usage: { ...tokens, totalTokens: 2, estimated: false },
      durationMs: 1,
    });
  });
}
