import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { holdsSecret } from './protected-path.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plinth-secrets-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function isSecret(content: string, name = '.env'): Promise<boolean> {
  const path = join(folder, name);
  writeFileSync(path, `${content}\n`);
  return holdsSecret(Buffer.from(path), { name, isNamedSo: true });
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

describe('settings on one line', () => {
  it.each([
    [
      'credentials.json',
      '{"web":{"client_id":"1-a.apps.example.com","client_secret":"hunter2hunter2"}}',
    ],
    [
      'credentials.json',
      '{"installed":{"client_id":"a","auth_uri":"https://a","client_secret":"hunter2"}}',
    ],
    ['secrets.yml', 'db: {user: a, password: hunter2}'],
    ['secrets.yaml', '{ production: { secret_key_base: hunter2hunter2 } }'],
    ['secrets.toml', 'database = { user = "a", password = "hunter2" }'],
    ['secrets.json', '["a",{"api_key":"hunter2"}]'],
    ['config.json', '{"auths":{"https://index.docker.io/v1/":{"auth":"dXNlcjpodW50ZXIy"}}}'],
    ['secrets.xml', '<settings><server><id>a</id><password>hunter2</password></server></settings>'],
    ['secrets.xml', '<a><add key="DbPassword" value="hunter2"/></a>'],
    ['secrets.xml', '<connection user="a" password="hunter2"/>'],
    ['secrets.xml', '<resources><string name="api_secret">hunter2</string></resources>'],
    ['secrets.xml', '<plist><dict><key>API_TOKEN</key><string>hunter2</string></dict></plist>'],
    ['terraform.tfvars', 'db = { name = "a", password = "hunter2" }'],
    ['.my.cnf', '[client]\nuser=a\npassword=hunter2'],
    ['prod.env', 'A=1\nDB_PASSWORD=hunter2'],
  ])('of %s are looked at one by one: %s', async (name, content) => {
    expect(await isSecret(content, name)).toBe(true);
  });

  it.each([
    ['credentials.json', '{"web":{"client_id":"a","client_secret":"${CLIENT_SECRET}"}}'],
    ['secrets.yml', 'db: {user: a, password: null}'],
    ['secrets.yml', 'db: {user: a, password: "{{ db_password }}"}'],
    ['secrets.toml', 'database = { user = "a", password = "" }'],
    ['secrets.json', '{"passwords": [], "token": {}}'],
    ['secrets.xml', '<server><id>a</id><password>${env.PASSWORD}</password></server>'],
    ['config.json', '{"auths":{},"credsStore":"desktop"}'],
  ])('of %s may hold none: %s', async (name, content) => {
    expect(await isSecret(content, name)).toBe(false);
  });
});

describe('a file that is not called a secret', () => {
  const KEY = ['-----BEGIN PRIVATE', 'KEY-----'].join(' ');
  const BODY = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7';
  const TOKEN = ['ghp', 'abcdefghijklmnopqrstuvwxyz0123456789'].join('_');

  async function holds(name: string, content: string | Buffer): Promise<boolean> {
    const path = join(folder, name);
    writeFileSync(path, content);
    return holdsSecret(Buffer.from(path), { name, isNamedSo: false });
  }

  it.each([
    ['prod-access.json', `{"type":"service_account","private_key":"${KEY}\\n${BODY}\\n"}`],
    ['values.yaml', `key: |\n  ${KEY}\n  ${BODY}\n`],
    ['deploy', `${KEY}\n${BODY}\n`],
    ['key.txt', `${KEY}\n${BODY}\n`],
    ['.deployrc', `TOKEN ${TOKEN}\n`],
    ['ci.toml', `header = "${TOKEN}"\n`],
    ['wg0.conf', `[Interface]\nPrivateKey = ${BODY.slice(0, 43)}=\n`],
  ])('is one by the content of %s', async (name, content) => {
    expect(await holds(name, content)).toBe(true);
  });

  it.each([
    ['notes.txt', `Tokens look like ${TOKEN}.\n`],
    ['manual.txt', `A key begins with ${KEY} and ends likewise.\n`],
    ['a.test.ts', `const key = '${KEY}\\n${BODY}';\n`],
    ['compose.yaml', 'services:\n  a:\n    environment:\n      PASSWORD: hunter2\n'],
    ['program', Buffer.from(`\0${KEY}\n${BODY}\n`)],
    ['aws.json', `{"id":"${['AKIA', 'IOSFODNN7', 'EXAMPLE'].join('')}"}`],
  ])('is none by the content of %s', async (name, content) => {
    expect(await holds(name, content)).toBe(false);
  });
});
