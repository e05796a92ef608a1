import { setTimeout as sleep } from 'node:timers/promises';
import { chunksOf } from './load.mjs';
import { query } from './postgres.mjs';

/** Bytes of one chunk of the mock; see the head of mock.c. */
const CHUNK_LENGTH = 36;

/** How many messages there are, per model; `wrong` are complete answers whose text is not as long as it was sent. */
async function counts(databaseUrl) {
  const rows = await query(
    databaseUrl,
    `SELECT model_name AS model, length(content) AS length, role, state, count(*)::integer AS count
     FROM chat_message GROUP BY model_name, length(content), role, state`,
  );
  const of = (wanted) => rows.filter(wanted).reduce((sum, row) => sum + row.count, 0);
  const isAnswer = (row) => row.role === 'assistant';
  const isComplete = (row) => isAnswer(row) && row.state === 'complete';
  return {
    messages: of(() => true),
    questions: of((row) => row.role === 'user'),
    answers: of(isAnswer),
    complete: of(isComplete),
    failed: of((row) => isAnswer(row) && row.state === 'failed'),
    wrong: of((row) => isComplete(row) && row.length !== chunksOf(row.model) * CHUNK_LENGTH),
  };
}

/** Waits until every stream has ended, then answers what is stored and how many upstream calls are still open. */
export async function storedAfterAll({ databaseUrl, mock }) {
  for (let attempt = 0; ; attempt += 1) {
    const { active } = await mock.stats();
    const stored = await counts(databaseUrl);
    const settled = active === 0 && stored.questions === stored.answers;
    if (settled || attempt === 50) return { ...stored, upstreamOpen: active };
    await sleep(200);
  }
}
