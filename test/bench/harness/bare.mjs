// What the rows of a run cost by themselves: the same ones again, by plain INSERTs and SELECTs.
import { randomUUID } from 'node:crypto';

/** Milliseconds of storing a run with its first event, and reading that event back, so many times. */
export async function bareCreation(database, runId, rounds) {
  const [run] = await rowsOf(database, 'harness_run', runId, 'id');
  const [session] = await rowsOf(database, 'harness_session', run.session_id, 'id');
  const [event] = await rowsOf(database, 'harness_event', runId);
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const [id, sessionId] = [randomUUID(), randomUUID()];
    await insert(database, 'harness_session', { ...session, id: sessionId, idempotency_key: id });
    const began = performance.now();
    await database.transaction(async () => {
      const own = { id, session_id: sessionId, idempotency_key: id };
      await insert(database, 'harness_run', { ...run, ...own });
      await insert(database, 'harness_event', { ...event, run_id: id, session_id: sessionId });
    });
    await rowsOf(database, 'harness_event', id);
    times.push(performance.now() - began);
  }
  return times;
}

/** Milliseconds of the rows of each step of a run, stored for another run in one transaction a step. */
export async function bareSteps(database, runId, into) {
  const [calls, effects, messages, events] = [
    await rowsOf(database, 'harness_model_call', runId),
    await rowsOf(database, 'harness_effect', runId),
    await rowsOf(database, 'harness_message', runId),
    await rowsOf(database, 'harness_event', runId),
  ];
  const own = { run_id: into.runId, session_id: into.sessionId };
  const times = [];
  for (const call of calls) {
    const { iteration } = call;
    const effect = effects.find((one) => one.iteration === iteration);
    if (!effect) continue;
    const id = effect.tool_call_id;
    const ofStep = events.filter(({ step_id: step }) => step === `step-${iteration}`);
    const answer = messages.find(({ tool_calls: made }) =>
      made.some((one) => one.toolCallId === id),
    );
    const result = messages.find(({ tool_call_id: answered }) => answered === id);
    const rows = [
      ['harness_model_call', { ...call, id: randomUUID(), run_id: into.runId }],
      ['harness_effect', { ...effect, ...own, tool_call_id: randomUUID() }],
      ['harness_message', { ...answer, ...own, id: randomUUID() }],
      ['harness_message', { ...result, ...own, id: randomUUID(), tool_call_id: randomUUID() }],
      ...ofStep.map((event) => ['harness_event', { ...event, ...own }]),
    ];
    const began = performance.now();
    await database.transaction(async () => {
      for (const [table, row] of rows) await insert(database, table, row);
    });
    times.push(performance.now() - began);
  }
  return times;
}

/** How many events a run has, and the types of the first. */
export async function copyOfEvents(database, runId) {
  return (await rowsOf(database, 'harness_event', runId)).map(({ type }) => type);
}

async function rowsOf(database, table, id, column = 'run_id') {
  const rows = await database.query(
    `SELECT to_jsonb(one) AS row FROM ${table} one WHERE ${column} = $1 ORDER BY ctid`,
    [id],
  );
  return rows.map(({ row }) => row);
}

async function insert(database, table, row) {
  await database.query(
    `INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1::jsonb)`,
    [JSON.stringify(row)],
  );
}
