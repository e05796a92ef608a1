import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import { request } from 'undici';
import { allocator, serviceFlags } from '../../../scripts/launch.mjs';
import { bundle, compileCache, node, root } from '../../../scripts/prepare.mjs';
import { ReadinessProxy } from '../../support/readiness-proxy.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { untilReady } from '../chat/children.mjs';
import { startPostgres } from '../chat/postgres.mjs';
import { freePort } from '../chat/targets.mjs';
import { Part } from './part.mjs';

/** A start on a busy machine, with all migrations. */
const START_MS = 300_000;
/** A program that copies every file. */
const PROGRAM_MS = 1_200_000;
const ALL_CORES = `0-${availableParallelism() - 1}`;
const S3_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'plinth', AWS_SECRET_ACCESS_KEY: 'plinth-test' };
const PROGRAMS = { api: 'main.js', worker: 'worker.js' };

/** What several installations may share: PostgreSQL, Redis, the model service, and an S3 server where PLINTH_S3 names one. */
export async function startServers({ children, folder, isInspected = false }) {
  const place = { children, folder, core: ALL_CORES, isInspected };
  const postgres = await startPostgres({ ...place, port: await freePort() });
  const database = new Part(children, 'PostgreSQL', postgres.restart);
  database.child = postgres.server;
  const redisPort = await freePort();
  const redis = await new Part(children, 'Redis', () => startRedis(place, redisPort)).start();
  const modelPort = await freePort();
  const startModels = () => startSimulator(place, modelPort);
  const models = await new Part(children, 'model service', startModels).start();
  return {
    ...place,
    postgres,
    parts: { database, redis, models },
    redisUrl: `redis://127.0.0.1:${redisPort}`,
    modelUrl: `http://127.0.0.1:${modelPort}`,
    s3: await openS3(),
  };
}

/** With the durability that compose.yaml gives it. */
async function startRedis({ children, folder, core }, port) {
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--appendonly', 'yes'];
  const log = join(folder, 'redis.log');
  const child = children.start('redis-server', [...flags, '--dir', folder], { core, log });
  await untilReady(child, () => ping(port));
  return child;
}

async function ping(port) {
  const client = new Redis(port, { lazyConnect: true, retryStrategy: null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.ping()) === 'PONG';
  } finally {
    client.disconnect();
  }
}

async function startSimulator({ children, folder, core }, port) {
  const program = join(bundle, 'simulator', 'main.js');
  const log = join(folder, 'models.log');
  const child = children.start(node, [program, '--port', String(port)], { core, log, cwd: root });
  // Any answer will do.
  await untilReady(child, async () => (await fetch(`http://127.0.0.1:${port}`)).status > 0);
  return child;
}

/**
 * A bucket of the server that PLINTH_S3 names, behind a relay: a server that keeps everything in memory cannot be killed,
 * so the relay takes it away.
 */
async function openS3() {
  const { PLINTH_S3 } = process.env;
  if (!PLINTH_S3) {
    console.log(
      'Files are on the disk. With an S3 server: pip install "moto[s3]" flask flask-cors, start moto_server -p 5000, and set PLINTH_S3=http://127.0.0.1:5000.',
    );
    return undefined;
  }
  const relay = new TcpRelay(new URL(PLINTH_S3));
  const endpoint = await relay.open();
  const bucket = `plinth-${randomBytes(6).toString('hex')}`;
  const credentials = { accessKeyId: 'plinth', secretAccessKey: 'plinth-test' };
  const region = 'us-east-1';
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  const query = `?endpoint=${encodeURIComponent(endpoint)}&pathStyle=true`;
  return { relay, url: (prefix) => `s3://${bucket}/${prefix}${query}` };
}

/** Processes of both roles behind a load balancer, on a database, a Redis prefix and a place for files of their own. */
export class Installation {
  #servers;
  #settings;
  apis = [];
  workers = [];

  constructor(servers, { name, databaseUrl, secretKey, proxy }) {
    this.#servers = servers;
    this.name = name;
    this.databaseUrl = databaseUrl;
    this.proxy = proxy;
    this.password = randomBytes(12).toString('hex');
    this.#settings = { SECRET_KEY: secretKey };
  }

  /** `secretKey` is that of the installation whose backup it is to hold. */
  static async prepare(servers, name, secretKey = randomBytes(32).toString('base64')) {
    const databaseUrl = await servers.postgres.createDatabase(name);
    const proxy = await ReadinessProxy.start();
    return new Installation(servers, { name, databaseUrl, secretKey, proxy });
  }

  get url() {
    return this.proxy.url;
  }

  get services() {
    return [...this.apis, ...this.workers];
  }

  get secretKey() {
    return this.#settings.SECRET_KEY;
  }

  async start({ apis, workers }) {
    // One process alone makes the database.
    this.apis.push(await this.#startService('api'));
    const others = [];
    for (let count = 1; count < apis; count += 1) others.push(this.#startService('api'));
    const ready = await Promise.all(others);
    this.apis.push(...ready);
    await this.addWorkers(workers);
  }

  async addWorkers(count) {
    const roles = Array.from({ length: count }, () => 'worker');
    this.workers.push(...(await Promise.all(roles.map((role) => this.#startService(role)))));
  }

  async endWorkers() {
    await Promise.all(this.workers.splice(0).map((worker) => worker.terminate()));
  }

  /** Ends the service with SIGTERM or SIGKILL, and starts its successor with the present settings. */
  async replace(service, { isKilled = false } = {}) {
    const { address } = service;
    await (isKilled ? service.kill() : service.terminate());
    if (service.role === 'api') this.proxy.remove(address);
    await service.start();
  }

  /** A deploy: each process after the one before is ready. */
  async replaceAll(settings = {}) {
    this.#settings = { ...this.#settings, ...settings };
    for (const service of this.services) await this.replace(service);
  }

  /** Runs a program of the build with the settings of the services; answers what it prints. */
  run(program, ...args) {
    const { children, folder, core } = this.#servers;
    const file = join(bundle, 'src', program);
    const env = this.#environment(join(folder, `data-${this.name}`));
    return children.run(node, [file, ...args], { core, env, timeoutMs: PROGRAM_MS, cwd: root });
  }

  async stop() {
    for (const service of this.services) await service.kill();
    await this.proxy.close();
  }

  async #startService(role) {
    const name = `${this.name}-${role}-${randomBytes(3).toString('hex')}`;
    const service = new Part(this.#servers.children, role, () => this.#spawn(service, name));
    service.role = role;
    return await service.start();
  }

  async #spawn(service, name) {
    const { children, folder, core, s3, isInspected } = this.#servers;
    const port = await freePort();
    service.address = `http://127.0.0.1:${port}`;
    const env = this.#environment(join(folder, `data-${s3 ? name : this.name}`));
    const program = join(bundle, 'src', PROGRAMS[service.role]);
    service.inspectorPort = isInspected ? await freePort() : undefined;
    const flags = isInspected ? [`--inspect=127.0.0.1:${service.inspectorPort}`] : [];
    const child = children.start(node, [...serviceFlags, ...flags, program], {
      core,
      log: join(folder, `${name}.log`),
      cwd: root,
      env: { ...env, PORT: String(port), WORKER_PORT: String(port), ROLE: service.role },
    });
    const isReady = async () => (await fetch(`${service.address}/health/ready`)).ok;
    await untilReady(child, isReady, START_MS);
    if (service.role === 'api') this.proxy.add(service.address);
    return child;
  }

  #environment(dataDir) {
    const { s3, redisUrl } = this.#servers;
    mkdirSync(dataDir, { recursive: true });
    return {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: compileCache,
      ...allocator(),
      DATA_DIR: dataDir,
      DATABASE_URL: this.databaseUrl,
      DATABASE_POOL_SIZE: '10',
      REDIS_URL: redisUrl,
      REDIS_PREFIX: this.name,
      ...(s3 && { STORAGE_URL: s3.url(this.name), ...S3_CREDENTIALS }),
      ADMIN_PASSWORD: this.password,
      DEMO: 'off',
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'info',
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      CHAT_STREAMS_PER_USER: '1000',
      SHUTDOWN_DRAIN_SECONDS: '5',
      SHUTDOWN_GRACE_SECONDS: '600',
      ...this.#settings,
    };
  }
}

/** Numbers of the /metrics of a service, by name with labels. */
export async function metricsOf({ address }) {
  const { body } = await request(`${address}/metrics`);
  const lines = (await body.text()).split('\n').filter((line) => line && !line.startsWith('#'));
  const entries = lines.map((line) => {
    const space = line.lastIndexOf(' ');
    return [line.slice(0, space), Number(line.slice(space + 1))];
  });
  return Object.fromEntries(entries);
}
