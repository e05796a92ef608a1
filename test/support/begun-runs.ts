import { freshKey } from './harness.js';
import type { Harness, RunView, SessionView } from './harness.js';
import { done } from './people.js';
import type { Answer, Session } from './session.js';

/** Where runs of a session are begun and listed. */
export function runsOf({ sessionId }: Pick<SessionView, 'sessionId'>): string {
  return `/coding/harness/sessions/${sessionId}/runs`;
}

/** Begins runs, and cancels them when the test is over. */
export class BegunRuns {
  private readonly begun: { readonly session: Session; readonly run: RunView }[] = [];

  async start(by: Session, session: SessionView, over: object = {}): Promise<Answer<RunView>> {
    const body = { requirement: 'Fix add()', idempotencyKey: freshKey(), ...over };
    const answer = await by.post<RunView>(runsOf(session), body);
    if (answer.code === 200) this.begun.push({ session: by, run: answer.data });
    return answer;
  }

  async cancelAll(harness: Harness): Promise<void> {
    for (const { session, run } of this.begun.splice(0)) {
      done(await session.post(harness.path(run, '/cancel')));
    }
  }
}
