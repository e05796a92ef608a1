// The chat page in a real browser, against a running Plinth with its offline demo:
//   node test/bench/console/typing.mjs --url http://127.0.0.1:6039 --password …
// Prints the largest contentful paint of a first visit, and how long keys wait in the composer while an answer streams at
// 100 chunks a second.
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const CHUNKS = 1_500;
const MODEL = `demo-typing--chunks-${CHUNKS}--delay-10`;
const KEY_MS = 80;
const KEYS = 120;
const VISITS = 5;

const { values: options } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:6039' },
    user: { type: 'string', default: 'admin' },
    password: { type: 'string' },
    chromium: { type: 'string', default: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium' },
  },
});
if (!options.password) throw new Error('--password of the user is missing.');

let token;
token = await signIn();
const modelId = await makeModel();
const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});
try {
  const paints = [];
  for (let visit = 0; visit < VISITS; visit += 1) paints.push(await paintOfFirstVisit());
  console.log(`largest contentful paint, ${VISITS} first visits: ${paints.map(ms).join(', ')}`);
  const { keys, chunks, seconds } = await typing();
  keys.sort((a, b) => a - b);
  console.log(
    `answer: ${Math.round(chunks / seconds)} chunks a second for ${seconds.toFixed(1)} s`,
  );
  console.log(
    `${keys.length} keys, from key to paint: median ${ms(keys[Math.floor(keys.length / 2)])}, 95 % ${ms(keys[Math.floor(keys.length * 0.95)])}, longest ${ms(keys.at(-1))}`,
  );
} finally {
  await browser.close();
  await api('DELETE', `/system/model/${modelId}`);
}

async function paintOfFirstVisit() {
  const page = await visitor();
  await page.goto(`${options.url}/chat`);
  await page.getByRole('textbox', { name: 'Write a message' }).waitFor();
  const paint = await page.evaluate(
    () =>
      new Promise((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
          type: 'largest-contentful-paint',
          buffered: true,
        });
      }),
  );
  await page.context().close();
  return paint;
}

async function typing() {
  const page = await visitor();
  await page.goto(`${options.url}/chat?model=${encodeURIComponent(MODEL)}`);
  const composer = page.getByRole('textbox', { name: 'Write a message' });
  await composer.fill('Write a lot');
  await composer.press('Enter');
  await page.getByRole('article', { name: 'Answer' }).getByText('tok9 ').waitFor();
  // Shorter events than 16 ms have no entries: they count as 16.
  await page.evaluate(() => {
    window.waits = [];
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries())
        if (name === 'keydown') window.waits.push(duration);
    }).observe({ type: 'event', durationThreshold: 16 });
  });
  const numbers = () =>
    page.evaluate(() =>
      Number(
        /tok(\d+)\s*$/.exec(document.querySelector('article[aria-busy]')?.textContent ?? '')?.[1] ??
          NaN,
      ),
    );
  const before = await numbers();
  const begun = performance.now();
  for (let key = 0; key < KEYS; key += 1) {
    await composer.press('x');
    await page.waitForTimeout(KEY_MS);
  }
  const chunks = (await numbers()) - before;
  const seconds = (performance.now() - begun) / 1_000;
  const waits = await page.evaluate(() => window.waits);
  await page.context().close();
  return { keys: [...waits, ...Array(Math.max(0, KEYS - waits.length)).fill(16)], chunks, seconds };
}

async function visitor() {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
  });
  const session = JSON.stringify({ token, clientId: CLIENT, tenantId: '000000' });
  await context.addInitScript((kept) => localStorage.setItem('plinth.session', kept), session);
  return context.newPage();
}

async function signIn() {
  const { data } = await api('POST', '/auth/login', {
    tenantId: '000000',
    username: options.user,
    password: options.password,
    grantType: 'password',
    clientId: CLIENT,
  });
  return data.access_token;
}

/** A model of the demo's simulator that answers at the pace of its name. */
async function makeModel() {
  const { rows } = await api('GET', '/system/model/list?modelName=demo-chat-paced');
  const [{ apiHost, providerCode }] = rows;
  await api('POST', '/system/model', {
    category: 'chat',
    modelName: MODEL,
    providerCode,
    apiHost,
    apiKey: 'demo',
  });
  const made = await api('GET', `/system/model/list?modelName=${MODEL}`);
  return made.rows[0].id;
}

async function api(method, path, body) {
  const answer = await fetch(`${options.url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      clientid: CLIENT,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const read = await answer.json();
  if (read.code !== 200) throw new Error(`${method} ${path}: ${read.code} ${read.msg}`);
  return read;
}

function ms(value) {
  return `${Math.round(value)} ms`;
}
