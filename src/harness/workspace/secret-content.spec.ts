import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { holdsSecret } from './secret-content.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plinth-secrets-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function isSecret(content: string, name = '.env'): Promise<boolean> {
  const path = join(folder, name);
  writeFileSync(path, `${content}\n`);
  return holdsSecret(Buffer.from(path), name);
}

// In parts, so that no scanner takes this file for one with a secret.
const SLACK = ['https://hooks.slack', 'com/services/T00000000/B00000000/abcdefghijkl'].join('.');
const ACCOUNT = 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey';

describe('the content of a .env file', () => {
  it.each([
    'ENCRYPTION_KEY=correct-horse-battery',
    'APP_KEY=correct-horse-battery',
    'export SESSION_KEY="correct horse"',
    `NOTIFY=${SLACK}`,
    'DB_PASSWORD=$ecret99!',
    'DB_PASSWORD="$ecret 99"',
    'DB_PASSWORD=${A}and-more',
    'DB_PASSWORD=${A:-hunter2}',
    'DB_PASSWORD=%ecret99',
    'ADMIN_PW=hunter2hunter2',
    'PW: hunter2',
    `CONN=${ACCOUNT}=abcdefgh`,
    'CONN="Server=a;Password=hunter2"',
    'DATABASE_URL=postgres://a:$ecret!@host/b',
  ])('%s is a secret', async (content) => {
    expect(await isSecret(content)).toBe(true);
  });

  it.each([
    'DB_PASSWORD=$DB_PASSWORD_OF_TESTS',
    'DB_PASSWORD=${DB_PASSWORD}',
    'DB_PASSWORD="${DB_PASSWORD:?is missing}"',
    'DB_PASSWORD=${DB_PASSWORD:-}',
    'DB_PASSWORD=%DB_PASSWORD%',
    'DB_PASSWORD=',
    'ENCRYPTION_KEY=<your key>',
    'PRIMARY_KEY=id',
    'PUBLIC_KEY_FORMAT=pem',
    'UPWARD=1',
    'NOTIFY=https://hooks.example.com/',
    'CONN="Server=a;Password=${DB_PASSWORD}"',
    'DATABASE_URL=postgres://a:${DB_PASSWORD}@host/b',
    'DATABASE_URL=postgres://a:$DB_PASSWORD@host/b',
  ])('%s is none', async (content) => {
    expect(await isSecret(content)).toBe(false);
  });
});

describe('a file whose content is made to take long', () => {
  const BYTES = 250_000;

  it.each([
    ['signs after which a random text could come', '='],
    ['words of names', 'pass'],
    ['beginnings of tokens', 'eyJaaaaaaaaaa-'],
    ['beginnings of addresses', '://a:{'],
    ['beginnings of webhooks', 'hooks.slack.com/services/'],
    ['names in a connection string', ';pwd= $a'],
  ])('is read in time: %s', async (_, part) => {
    const content = part.repeat(BYTES / part.length);
    expect(await isSecret(content, 'credentials')).toBe(false);
  });

  it('is read in time: spaces in a value', async () => {
    expect(await isSecret(`password=a${' '.repeat(BYTES)}b`, 'credentials')).toBe(true);
  });

  it('is a secret for a web token', async () => {
    const token = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjM0NTY3ODkwIn0', 'c2lnbmF0dXJl'].join('.');
    expect(await isSecret(`"-${token}"`, 'credentials')).toBe(true);
  });
});
