import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../chat/postgres.mjs';

const SETTLE_MS = 300_000;
const CHECKED_AT_ONCE = 8;
const PARSED = 2;
/** A killed process loses what it had not yet written to the usage ledger (docs/OPERATIONS.md, Usage ledger). */
const LEDGER_MS = 1_000;

/**
 * What an installation lacks of all that was acknowledged, a sentence for each: rows, contents of files, and documents
 * that a search does not find or that were stored twice. Waits until every document is parsed and no answer is kept back.
 */
export async function lossesOf({ databaseUrl, admin, uploads, records }) {
  const rows = (sql, values) => query(databaseUrl, sql, values);
  return [
    ...(await lostSessions(rows, records)),
    ...(await lostAnswers(rows, records)),
    ...(await lostResponses(rows, records)),
    ...(await lostDocuments(rows, { admin, uploads, records })),
  ];
}

async function lostSessions(rows, { sessions }) {
  const stored = await rows('SELECT id::text FROM chat_session WHERE id = ANY($1)', [sessions]);
  const ids = new Set(stored.map(({ id }) => id));
  return sessions.filter((id) => !ids.has(id)).map((id) => `session ${id} is not stored`);
}

/** Answers that were kept while the database was away are stored later. */
async function lostAnswers(rows, { answers }) {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const stored = await rows(
      `SELECT session_id::text AS session, content, state FROM chat_message
        WHERE role = 'assistant' AND session_id = ANY($1)`,
      [answers.map(({ sessionId }) => sessionId)],
    );
    const bySession = Map.groupBy(stored, ({ session }) => session);
    const lost = answers.flatMap(({ sessionId, text }) => {
      const found = bySession.get(sessionId) ?? [];
      if (found.length === 1 && found[0].content === text && found[0].state === 'complete')
        return [];
      const [{ state = 'nothing', content = '' } = {}] = found;
      return [
        `answer of session ${sessionId}: ${found.length} stored, ${state}, ${content.length} of ${text.length} characters`,
      ];
    });
    if (lost.length === 0 || Date.now() > deadline) return lost;
    await sleep(1_000);
  }
}

async function lostResponses(rows, { responses }) {
  const stored = await rows('SELECT id FROM stored_response WHERE id = ANY($1)', [responses]);
  const ids = new Set(stored.map(({ id }) => id));
  return responses.filter((id) => !ids.has(id)).map((id) => `response ${id} is not stored`);
}

async function lostDocuments(rows, { admin, uploads, records: { documents } }) {
  const stored = await settledDocuments(rows, documents);
  const lost = [];
  const rest = [...documents];
  const check = async () => {
    for (let one = rest.pop(); one; one = rest.pop()) {
      const loss = await lossOf(one, stored.get(one.id), { admin, uploads });
      if (loss) lost.push(`document ${one.id} ${loss}`);
    }
  };
  await Promise.all(Array.from({ length: CHECKED_AT_ONCE }, check));
  return lost;
}

/** What is wrong with a document: its row, its fragment, its file or its vector; undefined when nothing is. */
async function lossOf({ id, text }, { status, failure, fragments } = {}, { admin, uploads }) {
  if (status === undefined) return 'has no row';
  if (status !== PARSED) return `is not parsed: ${status} ${JSON.stringify(failure)}`;
  if (fragments.length !== 1 || fragments[0] !== text)
    return `has ${fragments.length} fragments, and not its own alone`;
  const content = await admin.text('GET', `/system/attach/${id}/content`);
  if (!content.includes(text)) return 'has a file with another content';
  return (await isFound(admin, uploads, text)) ? undefined : 'is not found by a search';
}

async function settledDocuments(rows, documents) {
  const ids = documents.map(({ id }) => id);
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const stored = await rows(
      `SELECT id::int, status, failure,
              array(SELECT content FROM fragment WHERE attachment_id = attachment.id) AS fragments
         FROM attachment WHERE id = ANY($1)`,
      [ids],
    );
    if (stored.every(({ status }) => status > 1) || Date.now() > deadline)
      return new Map(stored.map((row) => [row.id, row]));
    await sleep(1_000);
  }
}

async function isFound(admin, uploads, text) {
  const body = { knowledgeId: String(uploads), query: text };
  const { data } = await admin.call('POST', '/system/fragment/retrieval', body);
  return JSON.stringify(data).includes(text);
}

/** How the answers that did not arrive whole are stored; they were in flight, and are no loss. */
export async function inFlight(databaseUrl, sessions) {
  const rows = await query(
    databaseUrl,
    `SELECT coalesce(answer.state, CASE WHEN question.id IS NULL THEN 'nothing' ELSE 'question alone' END) AS state,
            count(*)::int AS count
       FROM unnest($1::bigint[]) AS one (session)
       LEFT JOIN chat_message question ON question.session_id = session AND question.role = 'user'
       LEFT JOIN chat_message answer ON answer.session_id = session AND answer.role = 'assistant'
      GROUP BY 1 ORDER BY 1`,
    [sessions],
  );
  return rows.map(({ state, count }) => `${count} ${state}`).join(', ') || 'none';
}

/** Calls of chat models that the usage ledger lacks, beyond those that a killed process had not yet written. */
export async function lostCalls(databaseUrl, calls, killedAt) {
  const deadline = Date.now() + SETTLE_MS;
  const isUnwritten = (time) => killedAt.some((kill) => time <= kill && time > kill - LEDGER_MS);
  const unwritten = calls.filter(isUnwritten).length;
  for (;;) {
    const [{ count }] = await query(
      databaseUrl,
      `SELECT count(*)::int AS count FROM upstream_call WHERE kind = 'chat' AND outcome = 'ok'`,
    );
    const missing = Math.max(0, calls.length - count);
    if (missing <= unwritten || Date.now() > deadline) return { missing, unwritten };
    await sleep(1_000);
  }
}
