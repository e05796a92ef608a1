// Runs of the coding harness: their first event, the time around the model's turns, resuming and many readers, on the
// embedded store and on a throwaway PostgreSQL, and commands in large workspaces; docs/OPERATIONS.md holds the goals and
// the numbers. Each number stands beside that of the bare rows, or of a bare walk, in the same run. Exit code 1 only when
// something failed: machines are noisy. `--quick` takes a fifth of the rounds, `--part many-files` (or `commands`, `runs`)
// one part.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build, node } from '../../../scripts/prepare.mjs';
import { startPostgres } from '../chat/postgres.mjs';
import { freePort } from '../chat/targets.mjs';
import { inOwnFolder } from '../own-folder.mjs';
import { openStream } from './stream.mjs';

const quick = process.argv.includes('--quick');
const CREATIONS = quick ? 20 : 100;
const STEPS = quick ? 10 : 40;
const EVENTS = 10_000;
const RESUMES = quick ? 3 : 9;
const RUNS = 20;
const READERS = 10;
const BATCHES = quick ? 25 : 100;
const BATCH = 4;
const COMMANDS = quick ? 5 : 15;
const MANY = quick ? 1 : 3;
const ALL_PARTS = ['commands', 'runs', 'many-files'];
const parts = process.argv.includes('--part')
  ? [process.argv[process.argv.indexOf('--part') + 1]]
  : ALL_PARTS;
if (!ALL_PARTS.includes(parts[0])) throw new Error(`--part is one of ${ALL_PARTS.join(', ')}.`);
const PASSWORD = 'a-password-of-the-bench';
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const LIMIT_MS = 120_000;

await build();
const { commandTimes } = await import('./command.mjs');
const { FILES, longestBlocks } = await import('./many-files.mjs');
const { startSimulator } = await import('../../../dist/simulator/index.js');
const simulator = await startSimulator();
try {
  await inOwnFolder(async (place) => {
    if (parts.includes('commands')) await commands();
    await measure('embedded', place, undefined);
    const server = await postgres(place);
    if (server) await measure(`PostgreSQL ${server.version}`, place, server.url);
    return 0;
  });
} finally {
  await simulator.close();
}

async function commands() {
  const measured = await commandTimes(COMMANDS);
  if (!measured) {
    console.log('Commands are left out: there is no sandbox here.');
    return;
  }
  console.log('\nCommands');
  line('in 20,000 files', measured.wide.times, measured.wide.bare, 500);
  line('in 600 nested folders', measured.nested.times, measured.nested.bare, 500);
}

async function postgres(place) {
  try {
    return await startPostgres({ ...place, core: '0,1', port: await freePort() });
  } catch (error) {
    console.log(`PostgreSQL is left out: ${error.message}`);
    return undefined;
  }
}

async function measure(store, { folder }, databaseUrl) {
  const service = await startService(folder, databaseUrl);
  try {
    console.log(`\n${store}`);
    await prepare(service);
    if (parts.includes('runs')) await runs(service);
    if (parts.includes('many-files')) await manyFiles(service);
  } finally {
    await service.ask('stop').catch(() => undefined);
    const ended = service.child.exitCode === null ? once(service.child, 'exit') : undefined;
    await Promise.race([ended, sleep(10_000, undefined, { ref: false })]);
    service.child.kill('SIGKILL');
  }
}

async function runs(service) {
  const run = await firstEvent(service);
  await steps(service, run);
  await resume(service);
  await readers(service);
}

async function manyFiles(service) {
  const blocks = await longestBlocks(service, simulator, MANY);
  if (!blocks) {
    console.log('  The files of commands are left out: there is no sandbox here.');
    return;
  }
  for (const [by, what] of [
    ['wall', 'by the clock'],
    ['cpu', 'by processor time of the thread'],
  ]) {
    const worst = (part) => [Math.max(...blocks[part].map((block) => block[by]))];
    console.log(`  longest block of the event loop, ${what}`);
    line('  nothing to do', worst('idle'));
    line('  a command that changes 1 file', worst('one'), worst('idle'));
    line(`  one that changes ${FILES} files`, worst('many'), worst('one'), 100);
    line('  its files, diff and report', worst('read'), worst('one'), 100);
  }
}

/** The service in a process of its own; `ask` puts a question to it, `call` is a request as a client makes it. */
async function startService(folder, databaseUrl) {
  const workspace = join(folder, 'workspaces', 'bench');
  mkdirSync(workspace, { recursive: true });
  for (let file = 0; file < STEPS; file += 1) {
    writeFileSync(join(workspace, `file-${file}.txt`), `line of file ${file}\n`.repeat(100));
  }
  const child = fork(fileURLToPath(new URL('service.mjs', import.meta.url)), { execPath: node });
  const replies = new Map();
  child.once('exit', () =>
    replies.forEach(({ reject }) => reject(new Error('The service ended.'))),
  );
  child.send({ databaseUrl, password: PASSWORD, roots: join(folder, 'workspaces') });
  await once(child, 'message');
  child.on('message', ({ id, reply, error }) => {
    const { resolve, reject } = replies.get(id);
    replies.delete(id);
    if (error) reject(new Error(error));
    else resolve(reply);
  });
  let asked = 0;
  const ask = (question, about = {}) =>
    new Promise((resolve, reject) => {
      asked += 1;
      replies.set(asked, { resolve, reject });
      child.send({ id: asked, ask: question, ...about });
    });
  const service = { child, ask, workspace, port: await ask('port'), headers: { clientid: CLIENT } };
  service.call = (method, path, body) => call(service, { method, path, body });
  service.longestBlock = async (work) => {
    await ask('watchLoop');
    await work();
    return ask('longestBlock');
  };
  return service;
}

async function call({ port, headers }, { method, path, body }) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { code, msg, data } = await answer.json();
  if (code !== 200) throw new Error(`${method} ${path}: ${code} ${msg}`);
  return data;
}

async function prepare(service) {
  const { access_token: token } = await service.call('POST', '/auth/login', {
    tenantId: '000000',
    username: 'admin',
    password: PASSWORD,
    clientId: CLIENT,
    grantType: 'password',
  });
  service.headers.authorization = `Bearer ${token}`;
  const providerCode = 'custom_api';
  await service.call('POST', '/system/provider', { providerName: 'Simulator', providerCode });
  await service.call('POST', '/system/model', {
    providerCode,
    category: 'chat',
    modelName: 'coder',
    apiHost: simulator.url,
    apiKey: 'key',
    contextWindow: 64_000,
    maxOutput: 4_096,
    supportsTools: true,
  });
}

async function createSession(service, key) {
  const { sessionId } = await service.call('POST', '/coding/harness/sessions', {
    workspacePath: service.workspace,
    model: 'coder',
    permissionMode: 'READ_ONLY',
    approvalPolicy: 'NEVER',
    title: 'Bench',
    idempotencyKey: `session-${key}`,
  });
  return `/coding/harness/sessions/${sessionId}/runs`;
}

/** From the request that creates a run to the first event on its stream. */
async function firstEvent(service) {
  const [times, posts] = [[], []];
  let runId;
  for (let round = -5; round < CREATIONS; round += 1) {
    const runs = await createSession(service, `first-${round}`);
    simulator.script({ text: 'Done.' });
    const began = performance.now();
    const body = { requirement: 'Say that you are done.', idempotencyKey: `run-${round}` };
    ({ runId } = await service.call('POST', runs, body));
    const posted = performance.now();
    const stream = await openStream(service, `${runs}/${runId}/events/stream`);
    await until(() => stream.first !== undefined, 'The first event');
    if (round >= 0) {
      times.push(stream.first - began);
      posts.push(posted - began);
    }
    await stream.ended;
  }
  const bare = await service.ask('bareCreation', { runId, rounds: CREATIONS });
  line('POST run to first event', times, bare, 30);
  line('  of it the POST', posts, undefined);
  return runId;
}

/** What the harness adds to each turn of the model, with one tool call that reads a file. */
async function steps(service) {
  const runs = await createSession(service, 'steps');
  const calls = Array.from({ length: STEPS }, (_, file) => ({
    toolCalls: [{ name: 'read_file', arguments: { path: `file-${file}.txt` } }],
  }));
  simulator.script(...calls, { text: 'Done.' });
  const body = { requirement: 'Read all files.', idempotencyKey: 'run-steps' };
  const { runId } = await service.call('POST', runs, body);
  const stream = await openStream(service, `${runs}/${runId}/events/stream`);
  await stream.ended;
  const { status, toolCallCount } = await service.call('GET', `${runs}/${runId}`);
  if (status !== 'COMPLETED' || toolCallCount !== STEPS) {
    throw new Error(`The run of ${STEPS} steps is ${status} after ${toolCallCount} tool calls.`);
  }
  const gaps = await service.ask('gapsBetweenTurns', { runId });
  line('step without the model', gaps, await service.ask('bareSteps', { runId }), 25);
}

async function resume(service) {
  const [run] = await service.ask('runs', { count: 1 });
  await service.ask('append', { runs: [run], batches: EVENTS / 500, size: 500 });
  const [times, bare] = [[], []];
  for (let round = 0; round < RESUMES; round += 1) {
    const stream = await openStream(service, streamOf(run));
    await until(() => stream.synced !== undefined, 'The end of the replay');
    if (stream.events !== EVENTS || stream.gaps > 0) {
      throw new Error(`A replay gave ${stream.events} events, with ${stream.gaps} gaps.`);
    }
    times.push(stream.synced - stream.began);
    stream.leave();
    bare.push(await service.ask('bareSelect', { run }));
  }
  line(`resume of ${EVENTS} events`, times, bare, 2_000);
}

async function readers(service) {
  const runs = await service.ask('runs', { count: RUNS });
  const delays = [];
  const streams = [];
  for (const run of runs) {
    for (let reader = 0; reader < READERS; reader += 1) {
      const note = ({ timestamp }, now) => delays.push(now - timestamp);
      streams.push(await openStream(service, streamOf(run), note));
    }
  }
  const began = performance.now();
  const batches = { batches: BATCHES, size: BATCH };
  const written = await service.ask('append', { runs, ...batches, complete: true });
  await Promise.all(streams.map(({ ended }) => ended));
  const all = performance.now() - began;
  const wanted = BATCHES * BATCH + 1;
  const lost = streams.filter(({ events, gaps }) => events !== wanted || gaps > 0);
  if (lost.length > 0) throw new Error(`${lost.length} of ${streams.length} streams lost events.`);
  const bare = await service.ask('bareAppend', {
    runs: await service.ask('runs', { count: RUNS }),
    ...batches,
  });
  line(`${streams.length} streams on ${RUNS} runs, all read`, [all], [bare], 'nothing lost');
  line('  written meanwhile', [written], [bare]);
  line('  event to reader', delays, undefined, `${delays.length} events`);
}

function streamOf({ sessionId, runId }) {
  return `/coding/harness/sessions/${sessionId}/runs/${runId}/events/stream`;
}

async function until(isSo, what) {
  const end = performance.now() + LIMIT_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`${what} did not come.`);
    await sleep(1);
  }
}

/** The goal is the most milliseconds that the median may take; or a note. */
function line(name, times, bare, goal = '') {
  const [p50, p99] = percentiles(times);
  const spread = times.length === 1 ? `${p50} ms` : `p50 ${p50} ms, p99 ${p99} ms`;
  const ratio = bare && Number(p50) / Number(percentiles(bare)[0]);
  const beside = bare ? `bare ${percentiles(bare)[0]} ms, ratio ${ratio.toFixed(1)}` : '';
  const missed = Number(p50) > goal ? ', MISSED' : '';
  const aim = typeof goal === 'number' ? `goal ${goal}${missed}` : goal;
  console.log(`  ${name.padEnd(34)} ${spread.padEnd(32)} ${beside.padEnd(28)} ${aim}`);
}

function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  return [0.5, 0.99].map((part) => sorted[Math.floor((sorted.length - 1) * part)].toFixed(1));
}
