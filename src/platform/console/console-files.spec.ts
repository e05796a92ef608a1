import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express } from 'express';
import { request } from 'undici';
import { loadConfig } from '../config/index.js';
import { ConsoleFiles } from './console-files.js';

const PAGE = '<!doctype html><title>Plinth</title>';
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let folder: string;
const servers: Server[] = [];

/** An application whose only route is GET /known, as the routes of the API are. */
async function serve(settings: Record<string, string> = {}, built = 'web'): Promise<string> {
  const config = loadConfig({ DATA_DIR: join(folder, 'data'), DEMO: 'off', ...settings });
  const files = new ConsoleFiles(config, join(folder, built));
  const app = new ExpressAdapter().getInstance<Express>();
  app.use(files.serve);
  app.get('/', (_request, response) => void response.type('text/plain').send('greeting'));
  app.get('/known', (_request, response) => void response.json({ code: 200 }));
  app.use((incoming, response) => {
    if (!files.answerNotFound(incoming, response)) response.json({ code: 404 });
  });
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

async function get(
  address: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' | 'POST' = 'GET',
): Promise<Answer> {
  const answer = await request(address, { method, headers });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: await answer.body.text(),
  };
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plinth-console-'));
  mkdirSync(join(folder, 'web', 'assets'), { recursive: true });
  writeFileSync(join(folder, 'web', 'index.html'), PAGE);
  writeFileSync(join(folder, 'web', 'icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'web', '.plinth-build'), 'stamp');
  const script = join(folder, 'web', 'assets', 'main-1a2b.js');
  writeFileSync(script, 'plain');
  writeFileSync(`${script}.br`, 'brotli');
  writeFileSync(`${script}.gz`, 'gzip');
  writeFileSync(join(folder, 'web', 'assets', 'other-3c4d.js'), 'other');
});

afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

describe('the console', () => {
  let address: string;

  beforeAll(async () => {
    address = await serve({ MEDIA_CONTENT_HOSTS: 'media.example.com,videos.example.com' });
  });

  it.each(['/', '/knowledge/3', '/chat?question=1', '/index.html'])(
    'answers its page at %s',
    async (path) => {
      const { status, headers, text } = await get(`${address}${path}`, BROWSER);

      expect({ status, text }).toEqual({ status: 200, text: PAGE });
      expect(headers['content-type']).toMatch(/^text\/html/);
      expect(headers['cache-control']).toBe('no-cache');
      expect(headers['x-frame-options']).toBe('DENY');
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'; script-src 'self';");
      expect(policy).toContain("connect-src 'self';");
      expect(policy).toContain(
        "img-src 'self' data: blob: https://media.example.com https://videos.example.com;",
      );
      expect(policy).toContain("frame-ancestors 'none'");
    },
  );

  it('lets a page be kept while it has not changed', async () => {
    const { headers } = await get(`${address}/`, BROWSER);
    const again = await get(`${address}/models`, {
      ...BROWSER,
      'if-none-match': String(headers['etag']),
    });

    expect(again).toMatchObject({ status: 304, text: '' });
  });

  it('answers a HEAD request with the headers alone', async () => {
    const { status, headers, text } = await get(`${address}/models`, BROWSER, 'HEAD');

    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers['content-length']).toBe(String(PAGE.length));
  });

  it.each([
    ['br, gzip', 'brotli', 'br'],
    ['gzip, deflate', 'gzip', 'gzip'],
    ['identity', 'plain', undefined],
  ])('sends a script to a browser that accepts %s as %s', async (accepted, text, encoding) => {
    const answer = await get(`${address}/assets/main-1a2b.js`, { 'accept-encoding': accepted });

    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers['content-type']).toMatch(/javascript/);
    expect(answer.headers['vary']).toContain('Accept-Encoding');
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  });

  it('sends a file as it is where the build has not compressed it', async () => {
    const answer = await get(`${address}/assets/other-3c4d.js`, { 'accept-encoding': 'br, gzip' });

    expect(answer.text).toBe('other');
    expect(answer.headers['content-encoding']).toBeUndefined();
  });

  it('has other files checked again each time', async () => {
    const { headers } = await get(`${address}/icon.svg`);

    expect(headers['cache-control']).toBe('no-cache');
    expect(headers['content-type']).toBe('image/svg+xml');
  });

  it.each(['/assets/main-old.js', '/assets/', '/assets/../.plinth-build'])(
    'answers 404 to %s, which no cache keeps',
    async (path) => {
      const { status, headers } = await get(`${address}/assets/x/..${path}`, BROWSER);

      expect(status).toBe(404);
      expect(headers['cache-control']).toBe('no-store');
    },
  );

  it.each([
    ['GET', '/', { accept: '*/*' }, 'greeting'],
    ['GET', '/known', BROWSER, '{"code":200}'],
    ['GET', '/unknown', { accept: 'application/json' }, '{"code":404}'],
    ['GET', '/.plinth-build', {}, '{"code":404}'],
    ['POST', '/unknown', BROWSER, '{"code":404}'],
  ] as const)('leaves %s %s to the API where it is not for a page', async (...given) => {
    const [method, path, headers, text] = given;

    expect((await get(`${address}${path}`, headers, method)).text).toBe(text);
  });
});

describe('without a console', () => {
  it.each([
    ['CONSOLE=off', { CONSOLE: 'off' }, 'web'],
    ['no build', {}, 'missing'],
  ])('the API answers as before: %s', async (_case, settings, built) => {
    const address = await serve(settings, built);

    expect((await get(`${address}/`, BROWSER)).text).toBe('greeting');
    expect((await get(`${address}/models`, BROWSER)).text).toBe('{"code":404}');
    expect((await get(`${address}/assets/main-1a2b.js`)).text).toBe('{"code":404}');
  });
});

describe('the policy of the page', () => {
  it('allows the media of the offline demo, which its simulator serves on this host', async () => {
    const address = await serve({ DEMO: 'on', ALLOW_PRIVATE_MODEL_HOSTS: '127.0.0.1' });

    const { headers } = await get(`${address}/`, BROWSER);

    expect(headers['content-security-policy']).toMatch(/media-src [^;]*http:\/\/127\.0\.0\.1:\*/);
  });
});
