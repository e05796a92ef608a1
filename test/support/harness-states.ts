import { Database } from '../../src/platform/database/index.js';
import { CODER } from './harness.js';
import type { Harness, RunView } from './harness.js';
import type { Plinth } from './plinth.js';

/** For a harness whose other runs stay in the queue behind that of `occupy`, whose model is silent for ten minutes. */
export const ONE_PLACE = {
  HARNESS_RUNS: '1',
} as const;

/** A run that its model keeps waiting takes the only place. */
export async function occupy(harness: Harness): Promise<RunView> {
  harness.script({ match: { model: CODER }, firstMs: 600_000 });
  const { sessionId } = await harness.createSession({ permissionMode: 'READ_ONLY' });
  return harness.waitFor(await harness.createRun(sessionId), 'RUNNING');
}

interface State {
  readonly status: string;
  readonly waitKind?: string;
  readonly question?: { toolCallId: string; text: string; options: string[] };
}

/**
 * Puts a run into a state as if it had come there by itself, and takes it from whoever holds it. For tests of what
 * people may do in the state; how runs come there is tested with the loop.
 */
export async function putRun(
  plinth: Plinth,
  { runId }: { readonly runId: string },
  { status, waitKind, question }: State,
): Promise<void> {
  await plinth.app.get(Database).query(
    `UPDATE harness_run
        SET status = $2::text, wait_kind = $3, question = $4::jsonb, lease_owner = NULL, lease_boot = NULL,
            lease_until = NULL, fence = fence + 1, revision = revision + 1, reason = NULL,
            ended_at = CASE WHEN $2::text IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN now() END
      WHERE id = $1`,
    [runId, status, waitKind ?? null, question ? JSON.stringify(question) : null],
  );
}
