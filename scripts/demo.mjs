import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';

/**
 * Performs the README's quick start against a running service and prints what goes to and fro.
 * The password comes from --password, from ADMIN_PASSWORD, or is asked for.
 */
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: process.env.PLINTH_URL ?? 'http://127.0.0.1:6039' },
    user: { type: 'string', default: 'admin' },
    password: { type: 'string', default: process.env.ADMIN_PASSWORD },
    handbook: { type: 'string', default: 'How long is the warranty of a laptop?' },
    question: { type: 'string', default: 'What can you do for me?' },
  },
});

try {
  await demo();
} catch (error) {
  console.error(`\n${error.message}`);
  process.exitCode = 1;
}

async function demo() {
  await reach();
  const token = await signIn(values.password ?? (await askPassword()));
  const headers = { authorization: `Bearer ${token}`, clientid: CLIENT };
  const model = await firstModel(headers);
  const sessionId = await openSession(headers);
  await chat(headers, { model, content: values.question, sessionId });
  await showMessages(headers, sessionId);
  await askHandbook(headers);
}

/** Only where the demo's agent is: an administrator may have deleted it. */
async function askHandbook(headers) {
  const { data } = await call('GET', '/agent/agent/agentOptions', headers);
  const clerk = data.find(({ agentName }) => agentName === 'Handbook clerk');
  if (!clerk) return;
  title('An agent that answers from documents, and names them');
  say('GET /agent/agent/agentOptions');
  hear(`${clerk.id}  ${clerk.agentName}: ${clerk.agentDescribe}`);
  await chat(headers, { agentId: clerk.id, content: values.handbook });
}

async function reach() {
  try {
    await fetch(`${values.url}/health/live`, { signal: AbortSignal.timeout(5_000) });
  } catch {
    throw new Error(`No Plinth answers at ${values.url}. Start one with: npm start`);
  }
}

async function signIn(password) {
  title('Sign in');
  const body = {
    tenantId: '000000',
    username: values.user,
    grantType: 'password',
    clientId: CLIENT,
  };
  say(`POST /auth/login  ${JSON.stringify({ ...body, password: '…' })}`);
  const answer = await call('POST', '/auth/login', {}, { ...body, password });
  hear(`{"code":200, "data":{"access_token":"${answer.data.access_token.slice(0, 12)}…", …}}`);
  return answer.data.access_token;
}

async function firstModel(headers) {
  title('The models to talk to');
  say('GET /system/model/modelList');
  const { data } = await call('GET', '/system/model/modelList', headers);
  for (const { modelName, modelDescribe } of data) hear(`${modelName}  (${modelDescribe})`);
  if (data.length === 0) {
    throw new Error(
      'There is no chat model yet. Add one (README, “Add a real provider”) or start with DEMO=on.',
    );
  }
  return data[0].modelName;
}

async function openSession(headers) {
  title('A session to talk in');
  const body = { sessionTitle: 'A first talk' };
  say(`POST /system/session  ${JSON.stringify(body)}`);
  const { data } = await call('POST', '/system/session', headers, body);
  hear(`its id is ${data}`);
  return data;
}

async function chat(headers, body) {
  title('A question, and its answer as it is written');
  say(`POST /chat/send  ${JSON.stringify(body)}`);
  const response = await fetch(`${values.url}/chat/send`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    blocks.forEach(showBlock);
  }
}

function showBlock(block) {
  const event = /^event: (.*)$/m.exec(block)?.[1];
  const data = /^data: (.*)$/m.exec(block)?.[1];
  if (!event || !data) return;
  if (event === '[ERROR]') throw new Error(JSON.parse(data).msg);
  if (event === 'content') process.stdout.write(JSON.parse(data).content);
  else if (event === 'sources') showSources(JSON.parse(data).sources);
  else process.stdout.write(`\n    event: ${event}\n    data: ${data}\n`);
}

function showSources(sources) {
  for (const { number, document, headings, score } of sources) {
    hear(`[${number}] ${document}${headings ? `, ${headings}` : ''}  (${score.toFixed(2)})`);
  }
  process.stdout.write('\n');
}

async function showMessages(headers, sessionId) {
  title('What is stored');
  say(`GET /system/message/list?sessionId=${sessionId}`);
  const { rows } = await call('GET', `/system/message/list?sessionId=${sessionId}`, headers);
  for (const row of rows) {
    hear(
      `${row.role.padEnd(9)} ${row.state.padEnd(8)} ${row.totalTokens} tokens  ${row.content.slice(0, 60)}`,
    );
  }
}

async function call(method, path, headers, body) {
  const response = await fetch(values.url + path, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const answer = await response.json();
  if (answer.code !== 200) throw new Error(`${method} ${path}: ${answer.msg}`);
  return answer;
}

async function askPassword() {
  if (!process.stdin.isTTY) {
    throw new Error(
      'Give the password of admin: npm run demo -- --password <it>, or set ADMIN_PASSWORD.',
    );
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const password = await terminal.question(
    `Password of ${values.user} (shown at the first start): `,
  );
  terminal.close();
  return password;
}

function title(text) {
  console.log(`\n# ${text}`);
}

function say(text) {
  console.log(`  > ${text}`);
}

function hear(text) {
  console.log(`  < ${text}`);
}
