import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { root } from './prepare.mjs';

/** Signs in to a running service, chats with a model and an agent, and prints every request and answer. */
const HELP = `Signs in to a running Plinth, chats with a model and with an agent, and prints each request and answer.
It stores one chat session and changes nothing else.

  npm run demo
  npm run demo -- [--url URL] [--user NAME] [--password PASSWORD] [--question TEXT] [--handbook TEXT]

  --url       Address of the service. Default: PLINTH_URL, else HOST and PORT (http://127.0.0.1:6039)
  --user      User name in the tenant 000000. Default: admin
  --password  Default: ADMIN_PASSWORD, else the file DATA_DIR/initial-password that the first start of the
              offline demo writes (DATA_DIR defaults to ./data), else a prompt
  --question  Question for the first chat model
  --handbook  Question for the agent that answers from the demo handbook
  --help      Show this text

Use the same PORT, HOST and DATA_DIR as for "npm start".`;

/** The client id of the admin console, which every installation has. */
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const DEMO_AGENT = 'Handbook clerk';
/** An agent answers from documents, which a first start still parses for a few seconds. */
const PARSE_LIMIT_MS = 60_000;

function readOptions() {
  try {
    return parseArgs({
      options: {
        url: { type: 'string', default: process.env.PLINTH_URL ?? configuredUrl() },
        user: { type: 'string', default: 'admin' },
        password: { type: 'string', default: process.env.ADMIN_PASSWORD },
        question: { type: 'string', default: 'What can you do for me?' },
        handbook: { type: 'string', default: 'How long is the warranty of a laptop?' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new Error(`${error.message}\n\n${HELP}`, { cause: error });
  }
}

/** Where a service with this environment listens. */
function configuredUrl() {
  const { HOST: host = '127.0.0.1', PORT: port = '6039' } = process.env;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

async function demo(options) {
  const api = new Api(options.url.replace(/\/+$/, ''));
  await requireService(api);
  await signIn(api, options);
  const model = await firstModel(api);
  const sessionId = await openSession(api);
  title('Ask a question and read the answer while it is written');
  await chat(api, { model, content: options.question, sessionId });
  await showMessages(api, sessionId);
  await askAgent(api, options.handbook);
  console.log(`\nAll routes with their fields: ${api.url}/docs`);
  console.log('A model that edits a repository under approval: docs/HARNESS.md, "A walk through"');
}

/** One signed-in client of the service. */
class Api {
  headers = { clientid: CLIENT, 'content-type': 'application/json' };

  constructor(url) {
    this.url = url;
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, {
      method,
      headers: this.headers,
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const answer = await response.json();
    if (answer.code !== 200) throw new Error(`${method} ${path} failed: ${answer.msg}`);
    return answer;
  }
}

async function requireService({ url }) {
  const response = await fetch(`${url}/health/live`, {
    signal: AbortSignal.timeout(5_000),
  }).catch(() => undefined);
  if (!response?.ok) {
    throw new Error(
      `No Plinth answers at ${url}. Start it with "npm start" in another terminal. ` +
        'If it listens on another port, run "PORT=<port> npm run demo" or pass --url.',
    );
  }
}

async function signIn(api, options) {
  title('Sign in');
  const { password, source } = await findPassword(options);
  const body = {
    tenantId: '000000',
    username: options.user,
    grantType: 'password',
    clientId: CLIENT,
  };
  sent('POST', '/auth/login', { ...body, password: '…' });
  let answer;
  try {
    answer = await api.call('POST', '/auth/login', { ...body, password });
  } catch (error) {
    throw new Error(`${error.message}\nThe password came from ${source}. ${OTHER_PASSWORD}`, {
      cause: error,
    });
  }
  const token = answer.data.access_token;
  api.headers.authorization = `Bearer ${token}`;
  received(`{"code":200, "data":{"access_token":"${token.slice(0, 12)}…", …}}`);
}

const OTHER_PASSWORD = 'Pass another one with: npm run demo -- --password <password>';

async function findPassword({ user, password }) {
  if (password) return { password, source: '--password or ADMIN_PASSWORD' };
  const file = join(resolve(root, process.env.DATA_DIR ?? 'data'), 'initial-password');
  const storedPassword = user === 'admin' ? await readFile(file, 'utf8').catch(() => '') : '';
  if (storedPassword.trim()) {
    console.log(`  The password of admin is the one in ${file}.`);
    return { password: storedPassword.trim(), source: file };
  }
  if (process.stdin.isTTY) return { password: await promptPassword(user), source: 'the prompt' };
  throw new Error(
    `The password of ${user} is needed: there is no file ${file}, and no terminal to ask on.\n` +
      `The first start printed it after "Sign in". ${OTHER_PASSWORD}`,
  );
}

/** Reads a line without echoing it. */
async function promptPassword(user) {
  process.stdout.write(`  Password of ${user} (printed at the first start, not shown here): `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  const password = await terminal.question('');
  terminal.close();
  console.log();
  return password;
}

async function firstModel(api) {
  title('List the chat models');
  sent('GET', '/system/model/modelList');
  const { data } = await api.call('GET', '/system/model/modelList');
  for (const { modelName, modelDescribe } of data) received(`${modelName}  (${modelDescribe})`);
  if (data.length === 0) {
    throw new Error(
      'There is no chat model. Add one (docs/PROVIDERS.md), or start the service with DEMO=on.',
    );
  }
  return data[0].modelName;
}

async function openSession(api) {
  title('Open a chat session');
  const body = { sessionTitle: 'First chat' };
  sent('POST', '/system/session', body);
  const { data } = await api.call('POST', '/system/session', body);
  received(`session id ${data}`);
  return data;
}

async function showMessages(api, sessionId) {
  title('Read the stored messages');
  const path = `/system/message/list?sessionId=${sessionId}`;
  sent('GET', path);
  const { rows } = await api.call('GET', path);
  for (const { role, state, totalTokens, content } of rows) {
    const line = content.replaceAll(/\s+/g, ' ');
    const text = line.length > 60 ? `${line.slice(0, 60)}…` : line;
    received(`${role.padEnd(9)} ${state.padEnd(8)} ${text}  (${totalTokens} tokens)`);
  }
}

/** Skipped where an administrator has deleted the demo's agent. */
async function askAgent(api, question) {
  const { data } = await api.call('GET', '/agent/agent/agentOptions');
  const agent = data.find(({ agentName }) => agentName === DEMO_AGENT);
  if (!agent) return;
  title('Ask an agent that answers from documents and names its sources');
  sent('GET', '/agent/agent/agentOptions');
  received(`${agent.id}  ${agent.agentName}: ${agent.agentDescribe}`);
  await documentsParsed(api);
  await chat(api, { agentId: agent.id, content: question });
}

async function documentsParsed(api) {
  const limit = Date.now() + PARSE_LIMIT_MS;
  for (;;) {
    const { rows: bases } = await api.call('GET', '/system/info/list?name=Demo%20handbook');
    const unfinished = [];
    for (const { id } of bases) {
      const { rows } = await api.call('GET', `/system/attach/list?knowledgeId=${id}`);
      unfinished.push(...rows.filter(({ status }) => status < 2));
    }
    if (unfinished.length === 0 || Date.now() > limit) return;
    await new Promise((done) => setTimeout(done, 500));
  }
}

/** Sends a question and prints its answer event by event. */
async function chat({ url, headers }, body) {
  sent('POST', '/chat/send', body);
  console.log();
  const response = await fetch(`${url}/chat/send`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    blocks.forEach(showEvent);
  }
}

function showEvent(block) {
  const event = /^event: (.*)$/m.exec(block)?.[1];
  const text = /^data: (.*)$/m.exec(block)?.[1];
  if (!event || !text) return;
  const data = JSON.parse(text);
  if (event === '[ERROR]') throw new Error(data.msg);
  if (event === 'content') process.stdout.write(data.content);
  else if (event === 'sources') showSources(data.sources);
  else process.stdout.write(`\n  < event: ${event}  ${text}`);
  if (event === 'done') process.stdout.write('\n');
}

function showSources(sources) {
  for (const { number, document, headings, score } of sources) {
    received(`[${number}] ${document}${headings ? `, ${headings}` : ''}  (${score.toFixed(2)})`);
  }
  console.log();
}

function title(text) {
  console.log(`\n# ${text}`);
}

function sent(method, path, body) {
  console.log(`  > ${method} ${path}${body ? `  ${JSON.stringify(body)}` : ''}`);
}

function received(text) {
  console.log(`  < ${text}`);
}

try {
  const options = readOptions();
  if (options.help) console.log(HELP);
  else await demo(options);
} catch (error) {
  console.error(`\n${error.message}`);
  process.exitCode = 1;
}
