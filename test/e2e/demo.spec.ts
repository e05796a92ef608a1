import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addressOf, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import { eventually } from '../support/wait.js';

const program = resolve('scripts/demo.mjs');

/** The first start creates the database and the demo: 70 seconds on two cores under a load of 30. */
const SETUP_MS = 4 * START_MS;

interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs `npm run demo` without a terminal and with nothing of this process's environment but PATH. */
async function demo(
  environment: Record<string, string>,
  ...flags: readonly string[]
): Promise<Finished> {
  const child = spawn(process.execPath, [program, ...flags], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { output: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (texts.errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...texts };
}

/** On the embedded database in any case: only there the demo may sign in by itself. */
(isBuilt ? describe : describe.skip)('npm run demo', () => {
  let dataDir: string;
  let port: string;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'plinth-first-demo-'));
    const service = boot(dataDir, { DATABASE_URL: '', REDIS_URL: '', DEMO: 'on' });
    const started = (text: string): boolean =>
      text.includes('"address"') || service.child.exitCode !== null;
    await eventually(service.stdout, started, SETUP_MS);
    ({ port } = new URL(await addressOf(service)));
  }, SETUP_MS + START_MS);

  afterAll(() => {
    killAll();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it(
    'needs no arguments after a first start: it finds the address and the sign-in',
    async () => {
      const { code, output, errors } = await demo({ PORT: port, DATA_DIR: dataDir });

      expect({ code, errors }).toEqual({ code: 0, errors: '' });
      expect(output).toMatch(/event: done {2}\{"event":"done","done":true/);
      expect(output).toContain('[1] equipment.md');
      expect(output).toMatch(/"citations":\{"cited":\[1\]/);
      expect(statSync(join(dataDir, 'initial-password')).mode & 0o777).toBe(0o600);
    },
    2 * START_MS,
  );

  it('says what to do without a password, with a wrong one and without a service', async () => {
    const missing = await demo({ PORT: port, DATA_DIR: join(dataDir, 'none') });
    expect(missing).toMatchObject({ code: 1, errors: expect.stringContaining('-- --password') });

    const wrong = await demo({ PORT: port, ADMIN_PASSWORD: 'not-the-password' });
    expect(wrong).toMatchObject({ code: 1, errors: expect.stringContaining('ADMIN_PASSWORD') });

    const nowhere = await demo({ PORT: '9' });
    expect(nowhere).toMatchObject({ code: 1, errors: expect.stringContaining('npm start') });
  });

  it('explains itself', async () => {
    const { code, output } = await demo({}, '--help');

    expect(code).toBe(0);
    expect(output).toContain('Default: PLINTH_URL, else HOST and PORT');
  });
});
