// A day in the life of an installation that shares no disk: two processes of each role behind a load balancer, on servers of
// the script's own, under traffic. A deploy; every part killed and frozen; a backup restored into a second installation; the
// secret key changed. docs/OPERATIONS.md explains it. Exit code 1 when something that was acknowledged is lost, or when a
// request fails at a deploy.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { build } from '../../../scripts/prepare.mjs';
import { printTable } from '../chat/report.mjs';
import { Client } from '../installation/client.mjs';
import { Installation, startServers } from '../installation/installation.mjs';
import { inFlight, lossesOf, lostCalls } from '../installation/losses.mjs';
import { settle } from '../installation/setting.mjs';
import { Traffic } from '../installation/traffic.mjs';
import { inOwnFolder } from '../own-folder.mjs';

const { values } = parseArgs({
  options: {
    // Seconds for which a server is away.
    away: { type: 'string', default: '15' },
    // Seconds for which a part is frozen: longer than the leases of documents and answers (30).
    frozen: { type: 'string', default: '40' },
    keep: { type: 'boolean', default: false },
  },
});
const AWAY_MS = Number(values.away) * 1_000;
const FROZEN_MS = Number(values.frozen) * 1_000;
const PAUSE_MS = 200;
const UP_MS = 300_000;
const MAX_SHOWN_LOSSES = 20;
const USERS = [
  ...['chat', 'chat', 'chat', 'longChat', 'longChat', 'longChat'],
  ...['v1', 'response', 'retrieval', 'upload', 'list', 'list'],
].map((kind) => [kind]);

await build();
await inOwnFolder(day, { keep: values.keep });

async function day(place) {
  const servers = await startServers(place);
  const installation = await Installation.prepare(servers, 'day');
  await installation.start({ apis: 2, workers: 2 });
  const setting = await settle(installation, servers);
  const traffic = new Traffic(setting, { pauseMs: PAUSE_MS });
  const run = { servers, installation, setting, traffic, killedAt: [], losses: [] };
  traffic.begin(USERS);
  await during(run, 'ordinary', () => traffic.steady(10));
  await during(run, 'deploy', () => installation.replaceAll(), { isDeploy: true });
  for (const part of partsOf(run)) {
    await during(run, `${part.name} killed`, part.kill);
    await during(run, `${part.name} frozen`, part.freeze);
  }
  await during(run, 'backup', () => restoredElsewhere(run));
  await during(run, 'key rotated', () => rotateKey(run), { isDeploy: true });
  await during(run, 'ordinary again', () => traffic.steady(10));
  await traffic.end();
  run.losses.push(...(await lossesOf(stored(run, traffic.records))));
  const isFine = await report(run);
  await installation.stop();
  await servers.s3?.relay.cut();
  return isFine ? 0 : 1;
}

/** A phase of the day, which ends when everything is answered again. The day goes on after one that does not. */
async function during({ traffic, installation }, name, work, { isDeploy = false } = {}) {
  const began = performance.now();
  traffic.phase(name);
  traffic.current.isDeploy = isDeploy;
  try {
    await work();
    for (const { address } of installation.services) await untilUp(address);
    await traffic.steady();
  } catch (error) {
    console.error(error);
    traffic.current.error = error.message;
  }
  traffic.current.seconds = (performance.now() - began) / 1_000;
  console.log(
    `${name}: ${traffic.current.requests} requests, ${traffic.current.failed} failed, ${traffic.current.cut} cut`,
  );
}

async function untilUp(address) {
  const deadline = Date.now() + UP_MS;
  for (;;) {
    const answer = await statusOf(address).catch((error) => error.message);
    if (answer === 'up') return;
    if (Date.now() > deadline) throw new Error(`${address} is not ready: ${answer}`);
    await sleep(200);
  }
}

async function statusOf(address) {
  const signal = AbortSignal.timeout(UP_MS);
  return (await (await fetch(`${address}/health/ready`, { signal })).json()).status;
}

/** Every part, with how it is killed and frozen. */
function partsOf({ servers, installation, killedAt }) {
  const services = [installation.apis[0], installation.workers[0]].map((service) => ({
    name: service.role,
    kill: () => {
      killedAt.push(Date.now());
      return installation.replace(service, { isKilled: true });
    },
    freeze: () => frozen(service),
  }));
  const { database, redis, models } = servers.parts;
  const others = [database, redis, models].map((part) => ({
    name: part.name,
    kill: async () => {
      await part.kill();
      await sleep(AWAY_MS);
      await part.start();
    },
    freeze: () => frozen(part),
  }));
  return [...services, ...others, ...(servers.s3 ? [storagePart(servers.s3.relay)] : [])];
}

function storagePart(relay) {
  const cut = async () => {
    await relay.cut();
    await sleep(AWAY_MS);
    await relay.open();
  };
  return { name: 'S3', kill: cut, freeze: () => frozen(relay) };
}

async function frozen(part) {
  part.freeze();
  await sleep(FROZEN_MS);
  part.thaw();
}

function stored({ installation, setting: { admin, uploads } }, records) {
  return { databaseUrl: installation.databaseUrl, admin, uploads, records };
}

/** Backs up under traffic, restores into a second installation, and compares it with what was acknowledged before. */
async function restoredElsewhere({ servers, installation, setting, traffic, losses }) {
  const records = traffic.snapshot();
  const folder = join(servers.folder, 'backup');
  await installation.run('backup.js', 'create', folder);
  await installation.run('backup.js', 'verify', folder);
  const second = await Installation.prepare(servers, 'second', installation.secretKey);
  await second.run('backup.js', 'restore', folder);
  await second.start({ apis: 1, workers: 1 });
  const admin = await Client.signIn(second.url, installation.password);
  const { databaseUrl } = second;
  const lost = await lossesOf({ databaseUrl, admin, uploads: setting.uploads, records });
  losses.push(...lost.map((loss) => `backup: ${loss}`));
  await second.stop();
}

/** docs/SECURITY.md, Keys: without interruption. */
async function rotateKey({ installation }) {
  const old = installation.secretKey;
  const key = randomBytes(32).toString('base64');
  await installation.replaceAll({ JWT_SECRET: old, SECRET_KEY_PREVIOUS: key });
  await installation.replaceAll({ SECRET_KEY: key, SECRET_KEY_PREVIOUS: old });
  console.log((await installation.run('secrets-rotate.js')).trim().split('\n').at(-1));
  await installation.replaceAll({ SECRET_KEY_PREVIOUS: '' });
}

/** Prints the table of the day; answers whether it was a good one. */
async function report({ installation, traffic, killedAt, losses }) {
  const rows = traffic.phases.slice(1).map((phase) => {
    const { name, requests, failed, cut, seconds, causes, isDeploy, error } = phase;
    const isMissed = isDeploy && failed + cut > 0;
    const verdict = error ?? (isMissed ? 'a deploy fails no request' : '');
    const cause = [...causes].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
    return [
      name,
      seconds.toFixed(0),
      requests,
      failed,
      cut,
      verdict ? `MISSED: ${verdict}` : cause,
    ];
  });
  console.log('');
  printTable([['phase', 's', 'requests', 'failed', 'cut', 'most frequent cause'], ...rows]);
  const { databaseUrl } = installation;
  const { missing, unwritten } = await lostCalls(databaseUrl, traffic.calls, killedAt);
  if (missing > unwritten) losses.push(`${missing - unwritten} calls are not in the usage ledger`);
  const { sessions, answers, responses, documents } = traffic.records;
  console.log(`
acknowledged: ${sessions.length} sessions, ${answers.length} answers, ${responses.length} responses, ${documents.length} documents, ${traffic.calls.length} calls
answers that did not arrive whole, as they are stored: ${await inFlight(databaseUrl, traffic.unanswered)}
calls in flight on a killed process that the usage ledger lacks: ${missing} of at most ${unwritten}
lost rows: ${losses.length}`);
  for (const loss of losses.slice(0, MAX_SHOWN_LOSSES)) console.log(`- ${loss}`);
  return losses.length === 0 && rows.every((row) => !String(row[5]).startsWith('MISSED'));
}
