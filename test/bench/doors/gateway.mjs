import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { untilReady } from '../chat/children.mjs';
import { freePort, node } from '../chat/targets.mjs';

/** A well-known gateway that npm installs: it passes calls on, and stores nothing. */
const NAME = '@portkey-ai/gateway';
const VERSION = '1.15.2';
/** With later releases of its server it answers each stream with 500. */
const overrides = { '@hono/node-server': '1.13.8' };
const folder = fileURLToPath(
  new URL(`../../../node_modules/.cache/bench/gateway-${VERSION}`, import.meta.url),
);
const program = join(folder, 'node_modules', NAME, 'build', 'start-server.js');

/** Installs the gateway in a folder of its own, once. */
export function installGateway() {
  if (existsSync(program)) return;
  console.log(`installing ${NAME} ${VERSION}`);
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: { [NAME]: VERSION }, overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error'];
  execFileSync('npm', args, { cwd: folder, stdio: 'inherit', timeout: 300_000 });
}

export async function startGateway({ children, core, folder: logs, mock, api }) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = children.start(node, [program, '--headless', `--port=${port}`], {
    core,
    log: join(logs, 'gateway.log'),
    cwd: folder,
    // It calls addresses of its own machine only when they are named.
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost',
    },
  });
  await untilReady(child, async () => (await fetch(origin)).status < 500);
  const headers = {
    authorization: 'Bearer sk-bench',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${mock.origin}/v1`,
  };
  return { name: 'gateway', child, origin, headers, api };
}
