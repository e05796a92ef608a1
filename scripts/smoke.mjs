// Boots the built service as a user does and uses it from outside: `node scripts/smoke.mjs [folder of an image]`.
// Start, sign in, chat, stop in order, start again, kill, start again. Ends with exit code 1 at the first failure.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { allocator, serviceFlags } from './launch.mjs';
import { bundle, node, root } from './prepare.mjs';

const PASSWORD = 'smoke-test-password';
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';
// It runs beside the tests, on cores that have more to do.
const START_LIMIT_MS = 300_000;
const STOP_LIMIT_MS = 60_000;
const ANSWER_LIMIT_MS = 60_000;
/** The most that the service itself has had in memory at once (docs/OPERATIONS.md, Memory). */
const MAX_PEAK_MB = 700;

const folder = resolve(process.argv[2] ?? root);
const main = process.argv[2]
  ? join(folder, 'dist', 'src', 'main.js')
  : join(bundle, 'src', 'main.js');
const dataDir = mkdtempSync(join(tmpdir(), 'plinth-smoke-'));
const port = await freePort();
const address = `http://127.0.0.1:${port}`;
let service;

try {
  if (process.argv[2]) await step('lists the packages of service and console', checkBill);
  await step('starts with nothing but the defaults', start);
  await step('serves the console and its script', loadConsole);
  const session = await step('lets admin sign in', signIn);
  const model = await step('lists the models of the demo', () => firstModel(session));
  await step(`streams an answer of ${model}`, () => chat(session, model));
  await step(`has taken less than ${MAX_PEAK_MB} MB of memory`, checkPeak);
  await step('stops in order on SIGTERM', stop);
  await step('starts on the data it left', start);
  await step('still knows its users and models', async () => firstModel(await signIn()));
  await step(`has taken less than ${MAX_PEAK_MB} MB again`, checkPeak);
  await step('is killed', () => end('SIGKILL'));
  await step('starts after a kill', start);
  await step('still answers', async () => {
    const again = await signIn();
    await chat(again, await firstModel(again));
  });
  await step('stops in order once more', stop);
} catch (error) {
  console.error(`  FAILED: ${error.message}`);
  console.error(service?.output.slice(-4_000) ?? '');
  process.exitCode = 1;
} finally {
  service?.child.kill('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
}

async function step(name, act) {
  const began = Date.now();
  const result = await act();
  console.log(`  ${name} (${Date.now() - began} ms)`);
  return result;
}

/** Of packages that only a build needs there are none. */
function checkBill() {
  const { components } = JSON.parse(readFileSync(join(folder, 'sbom.json'), 'utf8'));
  const names = new Set(components.map(({ name }) => name));
  const missing = ['typeorm', 'react-dom', '@mantine/core', 'shiki'].filter(
    (name) => !names.has(name),
  );
  const needless = ['vite', 'jest'].filter((name) => names.has(name));
  if (missing.length + needless.length > 0)
    throw new Error(`Missing: ${missing.join(', ')}. Needless: ${needless.join(', ')}.`);
}

async function start() {
  const environment = { ...process.env, ...allocator() };
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'QDRANT_URL', 'DEMO', 'HOST', 'ROLE'])
    delete environment[name];
  const child = spawn(node, [...serviceFlags, main], {
    cwd: folder,
    env: {
      ...environment,
      PORT: String(port),
      DATA_DIR: dataDir,
      ADMIN_PASSWORD: PASSWORD,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const started = {
    child,
    output: '',
    ended: new Promise((done) => child.once('exit', (code) => done(code))),
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (started.output += text));
  }
  service = started;
  const until = Date.now() + START_LIMIT_MS;
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`The service ended with code ${child.exitCode}.`);
    if (Date.now() > until) throw new Error(`Not ready within ${START_LIMIT_MS} ms.`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function isReady() {
  try {
    return (await fetch(`${address}/health/ready`, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}

/** Linux keeps the peak of a process, so that nothing is missed between two looks, whatever else the machine does. */
function checkPeak() {
  if (process.platform !== 'linux') return;
  const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
  const peakMb = Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)[1]) / 1024);
  console.log(`  (${peakMb} MB)`);
  if (peakMb >= MAX_PEAK_MB) throw new Error(`The service has taken ${peakMb} MB of memory.`);
}

async function stop() {
  const code = await end('SIGTERM');
  if (code !== 0) throw new Error(`The service ended with code ${code} after SIGTERM.`);
}

async function end(signal) {
  service.child.kill(signal);
  const limit = setTimeout(() => service.child.kill('SIGKILL'), STOP_LIMIT_MS);
  const code = await service.ended;
  clearTimeout(limit);
  return code;
}

/** The page as a browser asks for it, and the scripts that it names. */
async function loadConsole() {
  const headers = { accept: 'text/html', 'accept-encoding': 'br' };
  const page = await fetch(`${address}/`, { headers });
  const scripts = [...(await page.text()).matchAll(/"(\/assets\/[^"]+\.js)"/g)].map(
    ([, one]) => one,
  );
  if (scripts.length === 0) {
    throw new Error(`GET / answered ${page.status} and no page of the console.`);
  }
  for (const script of scripts) {
    const answer = await fetch(new URL(script, address), { headers });
    const kind = `${answer.status} ${answer.headers.get('content-type')}`;
    if (!answer.ok || !kind.includes('javascript')) throw new Error(`${script} answered ${kind}.`);
    const isPacked = answer.headers.get('content-encoding') === 'br';
    // The smallest are not worth it.
    const { byteLength } = await answer.arrayBuffer();
    if (!isPacked && byteLength >= 1_024) throw new Error(`${script} is not brotli.`);
  }
}

async function signIn() {
  const login = {
    tenantId: '000000',
    username: 'admin',
    password: PASSWORD,
    clientId: CLIENT,
    grantType: 'password',
  };
  const { access_token: token } = (await call('/auth/login', {}, login)).data;
  return { authorization: `Bearer ${token}`, clientid: CLIENT };
}

async function firstModel(session) {
  const { data } = await call('/system/model/modelList', session);
  if (!data?.[0]?.modelName)
    throw new Error(`The list of models is empty: ${JSON.stringify(data)}`);
  return data[0].modelName;
}

/** Every frame is read; the answer must have words and must be done. */
async function chat(session, model) {
  const response = await send('/chat/send', session, { model, content: 'What can you do?' });
  const frames = (await response.text()).split('\n\n').map((frame) => ({
    event: /^event: ?(.*)$/m.exec(frame)?.[1],
    data: /^data: ?(.*)$/m.exec(frame)?.[1],
  }));
  const words = frames
    .filter(({ event }) => event === 'content')
    .map(({ data }) => JSON.parse(data).content ?? '')
    .join('');
  if (words.trim() === '' || !frames.some(({ event }) => event === 'done')) {
    throw new Error(`The answer is not whole: ${JSON.stringify(frames.slice(-5))}`);
  }
}

async function call(path, session, body) {
  const answer = await (await send(path, session, body)).json();
  if (answer.code !== 200) throw new Error(`${path}: ${answer.code} ${answer.msg}`);
  return answer;
}

function send(path, session, body) {
  return fetch(address + path, {
    method: body ? 'POST' : 'GET',
    headers: { ...session, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
  });
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address();
      server.close(() => done(free));
    });
  });
}
