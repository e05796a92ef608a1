// Plinth as it is built, and whatever the benchmark wants to do at its tables, by questions over IPC.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../../dist/src/app.js';
import { loadConfig } from '../../../dist/src/platform/config/index.js';
import { acrossTenants, Database } from '../../../dist/src/platform/database/index.js';
import { RunLedger } from '../../../dist/src/harness/store/run.ledger.js';
import { bareCreation, bareSteps, copyOfEvents } from './bare.mjs';

const TENANT = '000000';
const RESOLUTION_MS = 5;
const TEXT = 'a piece of what the model says, as long as most pieces are ';

const [{ databaseUrl, password, roots }] = await once(process, 'message');
const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const app = await createApp(
  loadConfig({
    PORT: '0',
    DATA_DIR: folder,
    DEMO: 'off',
    LOG_LEVEL: 'error',
    ADMIN_PASSWORD: password,
    SECRET_KEY: 'a-secret-key-of-the-bench-with-32-characters',
    ALLOW_PRIVATE_MODEL_HOSTS: '*',
    HARNESS_ROOTS: roots,
    CHAT_STREAMS_PER_USER: '800',
    HARNESS_RUNS_PER_USER: '100',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  }),
);
await app.listen(0, '127.0.0.1');
const database = app.get(Database);
const ledger = app.get(RunLedger, { strict: false });

let watch;
const answers = {
  port: () => app.getHttpServer().address().port,
  runs: ({ count }) => Promise.all(Array.from({ length: count }, heldRun)),
  append: ({ runs, ...how }) => timed(() => Promise.all(runs.map((run) => append(run, how)))),
  bareAppend: ({ runs, ...how }) =>
    timed(() => Promise.all(runs.map((run) => bareAppend(run, how)))),
  bareSelect: ({ run }) =>
    timed(async () =>
      JSON.stringify(
        await database.query('SELECT * FROM harness_event WHERE run_id = $1 ORDER BY sequence', [
          run.runId,
        ]),
      ),
    ),
  gapsBetweenTurns: ({ runId }) => gapsBetweenTurns(runId),
  bareCreation: ({ runId, rounds }) => bareCreation(database, runId, rounds),
  bareSteps: async ({ runId }) => bareSteps(database, runId, await heldRun()),
  copyOfEvents: ({ runId }) => copyOfEvents(database, runId),
  watchLoop: () => {
    watch = watchLoop();
  },
  longestBlock: () => watch.stop(),
  stop: () => app.close(),
};

process.on('message', ({ id, ask, ...about }) => {
  void answer(ask, about).then((reply) => {
    process.send({ id, ...reply });
    if (ask === 'stop') process.disconnect();
  });
});
process.send('ready');

async function answer(ask, about) {
  try {
    return { reply: await acrossTenants('benchmark', () => answers[ask](about)) };
  } catch (error) {
    return { error: error.stack };
  }
}

/** A run that this program carries on instead of a worker. */
async function heldRun() {
  const [sessionId, runId, owner] = [randomUUID(), randomUUID(), randomUUID()];
  const [user] = await database.query(
    `SELECT id, tenant_id AS "tenantId" FROM user_account WHERE user_name = 'admin' AND tenant_id = $1`,
    [TENANT],
  );
  await database.query(
    `INSERT INTO harness_session
        (id, tenant_id, user_id, home_tenant_id, title, workspace, workspace_identity, model_name, permission_mode,
         approval_policy, idempotency_key, idempotency_hash)
     VALUES ($1, $2, $3, $2, 'Bench', '/nowhere', '0:0', 'none', 'READ_ONLY', 'NEVER', $4, repeat('0', 64))`,
    [sessionId, user.tenantId, user.id, sessionId],
  );
  await database.query(
    `INSERT INTO harness_run
        (id, tenant_id, session_id, user_id, home_tenant_id, requirement, model_name, permission_mode, approval_policy, budget,
         status, phase, lease_owner, lease_boot, lease_until, fence, idempotency_key, idempotency_hash)
     VALUES ($1, $2, $3, $4, $2, 'Bench', 'none', 'READ_ONLY', 'NEVER', '{}', 'RUNNING', 'BUILD', $5, 'bench',
             now() + interval '1 hour', 1, $6, repeat('0', 64))`,
    [runId, user.tenantId, sessionId, user.id, owner, runId],
  );
  return { sessionId, runId, lease: { tenantId: user.tenantId, runId, owner, fence: 1 } };
}

async function append({ lease }, { batches, size, complete }) {
  for (let batch = 0; batch < batches; batch += 1) await ledger.append(lease, drafts(batch, size));
  if (!complete) return;
  await ledger.asOwner(lease, (writer) =>
    writer.end({ status: 'COMPLETED', stopReason: 'END_TURN' }),
  );
}

/** The same rows and as many commits, with nothing around them. */
async function bareAppend({ sessionId, lease: { tenantId, runId } }, { batches, size }) {
  for (let batch = 0; batch < batches; batch += 1) {
    await database.query(
      `INSERT INTO harness_event (tenant_id, run_id, session_id, sequence, type, data)
       SELECT $1, $2, $3, $4::bigint + e.ordinality - 1, e.event ->> 'type', e.event -> 'data'
         FROM jsonb_array_elements($5::jsonb) WITH ORDINALITY AS e (event, ordinality)`,
      [tenantId, runId, sessionId, batch * size + 1, JSON.stringify(drafts(batch, size))],
    );
  }
}

function drafts(batch, size) {
  return Array.from({ length: size }, (_, number) => ({
    type: 'assistant.text.delta',
    data: { effectId: 'effect', delta: `${TEXT}${batch * size + number} ` },
  }));
}

/** Milliseconds from the end of one turn of the model to the beginning of the next. */
async function gapsBetweenTurns(runId) {
  const turns = await database.query(
    `SELECT extract(epoch FROM create_time)::float8 * 1000 AS began, duration_ms AS took
       FROM harness_model_call WHERE run_id = $1 AND purpose = 'TURN' ORDER BY iteration`,
    [runId],
  );
  return turns.slice(1).map(({ began }, index) => began - turns[index].began - turns[index].took);
}

/**
 * The longest block of the event loop, in milliseconds: by the clock, and by the processor time of this thread alone, which
 * leaves out what other programs of the machine have taken.
 */
function watchLoop() {
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  loop.enable();
  let [cpu, before] = [0, cpuOfThread()];
  const timer = setInterval(() => {
    const now = cpuOfThread();
    cpu = Math.max(cpu, now - before);
    before = now;
  }, RESOLUTION_MS);
  const stop = () => {
    clearInterval(timer);
    loop.disable();
    // Each sample contains the time that the timer waits.
    return { wall: Math.max(0, loop.max / 1e6 - RESOLUTION_MS), cpu };
  };
  return { stop };
}

function cpuOfThread() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1e3;
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
