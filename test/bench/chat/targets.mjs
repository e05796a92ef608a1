import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allocator, serviceFlags } from '../../../scripts/launch.mjs';
import { untilReady } from './children.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const proxyProgram = fileURLToPath(new URL('proxy.mjs', import.meta.url));
const installedNode = join(root, 'node_modules', '.bin', 'node');

/** Node 24 as npm installed it, for everything that is measured. */
export const node = existsSync(installedNode) ? installedNode : process.execPath;

const CLIENT_ID = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const NO_LIMIT = '1000000';

export async function startMock({ children, program, core, folder }) {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const child = children.start(program, [new URL(origin).port], {
    core,
    log: join(folder, 'mock.log'),
  });
  const ask = async (path) => (await fetch(origin + path)).json();
  await untilReady(child, () => ask('/__stats'));
  return { child, origin, stats: () => ask('/__stats'), reset: () => ask('/__reset') };
}

/** The bare proxy; with `databaseUrl` one that stores both messages. */
export async function startProxy({ children, core, folder, mock, databaseUrl }) {
  const name = databaseUrl === undefined ? 'proxy' : 'storing';
  const origin = `http://127.0.0.1:${await freePort()}`;
  const given = [new URL(origin).port, mock.origin, ...(databaseUrl ? [databaseUrl] : [])];
  const child = children.start(node, [proxyProgram, ...given], {
    core,
    log: join(folder, `${name}.log`),
    cwd: root,
  });
  await untilReady(child, async () => (await fetch(`${origin}/health/ready`)).ok);
  return { name, child, origin, headers: {} };
}

/** Plinth as it runs in production, its log written to a file, with models that lead to the mock. */
export async function startPlinth({ children, core, folder, mock, name, models, ...how }) {
  const main = join(resolve(root, how.dist ?? 'dist/bundle'), 'src', 'main.js');
  if (!existsSync(main)) throw new Error(`${main} does not exist. Build the application first.`);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const password = randomBytes(12).toString('hex');
  const dataDir = join(folder, `data-${port}`);
  mkdirSync(dataDir, { recursive: true });
  const child = children.start(node, [...serviceFlags, ...(how.nodeFlags ?? []), main], {
    core,
    log: join(folder, `${name}-${port}.log`),
    cwd: root,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      // As `npm start` and the image set it.
      ...allocator(),
      PORT: String(port),
      DATA_DIR: dataDir,
      DATABASE_URL: how.databaseUrl,
      SECRET_KEY: randomBytes(32).toString('base64'),
      ADMIN_PASSWORD: password,
      DEMO: 'off',
      LOG_LEVEL: 'info',
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      CHAT_STREAMS: NO_LIMIT,
      CHAT_STREAMS_PER_USER: NO_LIMIT,
      ...(how.collectorUrl && { OTEL_EXPORTER_OTLP_ENDPOINT: how.collectorUrl }),
    },
  });
  await untilReady(child, async () => (await fetch(`${origin}/health/ready`)).ok);
  const headers = await signIn(origin, password);
  await createModels({ origin, headers }, mock, models);
  return { name, child, origin, headers };
}

async function signIn(origin, password) {
  const login = { tenantId: '000000', username: 'admin', password, clientId: CLIENT_ID };
  const data = await call({ origin, headers: {} }, '/auth/login', {
    ...login,
    grantType: 'password',
  });
  return { authorization: `Bearer ${data.access_token}`, clientid: CLIENT_ID };
}

async function createModels(plinth, mock, models) {
  const providerCode = 'custom_api';
  await call(plinth, '/system/provider', { providerCode, providerName: 'Mock' });
  for (const modelName of models) {
    await call(plinth, '/system/model', {
      providerCode,
      category: 'chat',
      modelName,
      apiHost: `${mock.origin}/v1`,
      apiKey: 'sk-bench',
    });
  }
}

/** POSTs to a target, and answers the data of its envelope. */
export async function call({ origin, headers }, path, body) {
  const response = await fetch(origin + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { code, msg, data } = await response.json();
  if (code !== 200) throw new Error(`POST ${path}: ${code} ${msg}`);
  return data;
}

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
