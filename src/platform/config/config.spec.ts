import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { certificateFor } from '../../../test/support/media/certificate.js';
import { ConfigError } from './config-error.js';
import { loadConfig } from './config.js';

describe('loadConfig', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-config-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const secret = 'a-secret-of-at-least-thirty-two-characters';
  const load = (environment: Record<string, string>): ReturnType<typeof loadConfig> =>
    loadConfig({ DATA_DIR: folder, ...environment });

  it('is the embedded set-up with the demo when nothing is set', () => {
    const config = load({});
    expect(config).toMatchObject({
      PORT: 6039,
      HOST: '127.0.0.1',
      embedded: true,
      demo: true,
      allowedPrivateHosts: ['*'],
      UPLOAD_LIMIT_MB: 50,
    });
  });

  describe('proxies and authorities', () => {
    it('are read under both spellings, of which the lower case wins', () => {
      const { proxies } = load({
        HTTPS_PROXY: 'http://upper.test:1',
        https_proxy: 'proxy.test:3128',
        http_proxy: 'http://us%20er:p%40ss@proxy.test:3128',
        no_proxy: 'localhost, .internal 10.0.0.0/8,[::1]:80,*',
      }).outbound;
      expect(proxies).toEqual({
        httpsProxy: 'http://proxy.test:3128',
        httpProxy: 'http://us%20er:p%40ss@proxy.test:3128',
        noProxy: ['localhost', '.internal', '10.0.0.0/8', '[::1]:80', '*'],
      });
    });

    it.each([
      ['HTTPS_PROXY', 'socks5://proxy.test:1080'],
      ['HTTP_PROXY', 'http://user:100%@proxy.test'],
      ['OUTBOUND_ALLOWED_HOSTS', 'https://api.vendor.test/'],
    ])('refuse %s %s', (name, value) => {
      expect(messageOf(() => load({ [name]: value }))).toContain(name);
    });

    it('never show the password of a proxy', () => {
      const config = load({ HTTPS_PROXY: 'http://user:p%40ssword@proxy.test' });
      expect(config.secrets).toContain('p@ssword');
      expect(JSON.stringify(config) + inspect(config)).not.toContain('ssword');
    });

    it('are the certificates of a file', () => {
      const { cert } = certificateFor(['any.test']);
      const path = join(folder, 'ca.pem');
      writeFileSync(path, `Company authority\n${cert}${cert}`);
      const trusted = load({ OUTBOUND_CA_FILE: path }).outbound.authorities ?? [];
      expect(trusted).toHaveLength(2);
      expect(load({}).outbound.authorities).toBeUndefined();
    });

    it.each([
      ['a file that is missing', undefined],
      ['a file without a certificate', 'not PEM'],
      ['a broken certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ])('end the start for %s', (_, content) => {
      const path = join(folder, `ca-${content?.length ?? 0}.pem`);
      if (content !== undefined) writeFileSync(path, content);
      expect(messageOf(() => load({ OUTBOUND_CA_FILE: path }))).toContain('OUTBOUND_CA_FILE');
    });
  });

  it('takes a header of the receiver of the audit log with its name alone', () => {
    const header = (value: string): unknown => load({ AUDIT_EXPORT_HEADER: value });
    expect(header('Authorization: Splunk abc')).toMatchObject({
      AUDIT_EXPORT_HEADER: 'Authorization: Splunk abc',
    });
    for (const value of ['Splunk abc', ': abc', 'X-Token:', 'X Token: abc']) {
      expect(messageOf(() => header(value))).toContain('AUDIT_EXPORT_HEADER');
    }
  });

  it('is closed to private hosts and without the demo on a server', () => {
    const config = load({ DATABASE_URL: 'postgres://plinth@localhost/plinth', SECRET_KEY: secret });
    expect(config).toMatchObject({ embedded: false, demo: false, allowedPrivateHosts: [] });
  });

  it('names every bad variable with its problem and an example, and no secret', () => {
    const environment = { PORT: 'x', TZ: 'Mars/Base', SECRET_KEY: 'short-secret', DEMO: 'maybe' };
    const message = messageOf(() => load(environment));
    expect(message.split('\n')).toEqual([
      'PORT "x": must be a whole number. Example: 6039',
      'SECRET_KEY (hidden): must have at least 32 characters. Example: the output of: openssl rand -base64 32',
      'DEMO "maybe": must be on or off. Example: off',
      'TZ "Mars/Base": must be a time zone of the IANA list. Example: Europe/Berlin',
    ]);
    expect(message).not.toContain('short-secret');
  });

  it('refuses a key that no header can carry', () => {
    const given = { QDRANT_URL: 'http://qdrant:6333' };
    expect(load({ ...given, QDRANT_API_KEY: 'key é' }).QDRANT_API_KEY).toBe('key é');
    for (const wrong of ['a\nb', 'a\u200bb', 'a\u0085b', 'ключ']) {
      expect(messageOf(() => load({ ...given, QDRANT_API_KEY: wrong }))).toBe(
        'QDRANT_API_KEY (hidden): must hold no control character and none outside Latin-1. Example: a long random text',
      );
    }
  });

  it('reads a password with a %25 in an address, refuses one with a bare %, and hides both', () => {
    const server = { DATABASE_URL: 'postgres://plinth:50%25off@db/plinth', SECRET_KEY: secret };
    const { secrets } = load({ ...server, REDIS_URL: 'redis://:a%20key@redis' });
    expect(secrets).toEqual(expect.arrayContaining(['50%25off', '50%off', 'a%20key', 'a key']));
    const wrong = { DATABASE_URL: 'postgres://plinth:50%off@db/plinth', REDIS_URL: 'redis://a%@b' };
    expect(messageOf(() => load({ ...server, ...wrong })).split('\n')).toEqual([
      'DATABASE_URL (hidden): must have % as %25 in its user name and password. Example: postgres://plinth:password@db:5432/plinth',
      'REDIS_URL (hidden): must have % as %25 in its user name and password. Example: redis://redis:6379',
    ]);
    expect(messageOf(() => load({ ...server, DATABASE_URL: 'db/plinth' }))).toMatch(
      /^DATABASE_URL \(hidden\): must be an address starting with postgres:\/\/ or postgresql:\/\/\. /,
    );
  });

  it('reads PUBLIC_URL without its final slash and refuses what no path can follow', () => {
    expect(load({ PUBLIC_URL: 'https://ai.example.com/api/' }).PUBLIC_URL).toBe(
      'https://ai.example.com/api',
    );
    for (const PUBLIC_URL of ['ai.example.com', 'ftp://ai.example.com', 'https://a.example/?b=1']) {
      expect(() => load({ PUBLIC_URL })).toThrow(/^PUBLIC_URL/);
    }
  });

  it('reads STORAGE_URL with its parameters, and says which part of it is wrong', () => {
    expect(load({ STORAGE_URL: 's3://files' }).STORAGE_URL).toMatchObject({
      bucket: 'files',
      prefix: '',
      pathStyle: false,
    });
    const full = 's3://files/a/b/?endpoint=http%3A%2F%2Fminio%3A9000&pathStyle=true&sse=aws:kms';
    expect(
      load({ STORAGE_URL: `${full}&kmsKey=arn:aws:kms:eu-west-1:1:key/k` }).STORAGE_URL,
    ).toEqual({
      bucket: 'files',
      prefix: 'a/b/',
      endpoint: 'http://minio:9000',
      region: 'us-east-1',
      pathStyle: true,
      encryption: 'aws:kms',
      kmsKey: 'arn:aws:kms:eu-west-1:1:key/k',
    });
    for (const [wrong, problem] of [
      ['https://files', 'must be s3:// with the name of a bucket'],
      ['s3://key:secret@files', 'credentials are not part of it'],
      ['s3://files/../x', 'must have no . or ..'],
      ['s3://files?endpoint=minio:9000', 'endpoint must be an address'],
      ['s3://files?pathStyle=yes', 'pathStyle must be true or false'],
      ['s3://files?kmsKey=k', 'kmsKey needs sse=aws:kms'],
      ['s3://files?bucket=x', 'bucket'],
    ] as const) {
      expect(messageOf(() => load({ STORAGE_URL: wrong }))).toContain(problem);
    }
  });

  it('takes exactly two plain host names for the contents of media', () => {
    expect(load({}).MEDIA_CONTENT_HOSTS).toHaveLength(2);
    const hosts = load({ MEDIA_CONTENT_HOSTS: 'Media.Example.com, videos.example.com' });
    expect(hosts.MEDIA_CONTENT_HOSTS).toEqual(['media.example.com', 'videos.example.com']);
    for (const wrong of [
      'a.example',
      'a.example,b.example,c.example',
      'a.example,*',
      'a:443,b.c',
    ]) {
      expect(messageOf(() => load({ MEDIA_CONTENT_HOSTS: wrong }))).toMatch(
        /^MEDIA_CONTENT_HOSTS .*: must be (two )?host names/,
      );
    }
  });

  it('reads a secret from the file that NAME_FILE names', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'plinth-secret-')), 'url');
    writeFileSync(file, 'postgres://plinth:from-a-file@db/plinth\n');
    const key = 'k'.repeat(32);
    const { DATABASE_URL, secrets } = load({ DATABASE_URL_FILE: file, SECRET_KEY: key });
    expect(DATABASE_URL).toBe('postgres://plinth:from-a-file@db/plinth');
    expect(secrets).toContain('from-a-file');
    expect(messageOf(() => load({ SECRET_KEY: key, SECRET_KEY_FILE: file }))).toBe(
      'SECRET_KEY and SECRET_KEY_FILE are both set. Leave one of them out.',
    );
    expect(messageOf(() => load({ SECRET_KEY_FILE: `${file}.missing` }))).toMatch(
      /^SECRET_KEY_FILE ".+" cannot be read: ENOENT/,
    );
    rmSync(dirname(file), { recursive: true });
  });

  it('demands SECRET_KEY beside DATABASE_URL', () => {
    expect(messageOf(() => load({ DATABASE_URL: 'postgres://localhost/p' }))).toMatch(
      /^SECRET_KEY is required when DATABASE_URL is set/,
    );
  });

  it('does everything in one process unless the role says otherwise, which needs DATABASE_URL', () => {
    expect(load({}).ROLE).toBe('all');
    expect(messageOf(() => load({ ROLE: 'worker' }))).toMatch(
      /^ROLE "worker" needs DATABASE_URL: /,
    );
    expect(messageOf(() => load({ ROLE: 'both' }))).toMatch(
      /^ROLE "both": must be all, api or worker/,
    );
    const server = { DATABASE_URL: 'postgres://plinth@localhost/plinth', SECRET_KEY: secret };
    expect(load({ ...server, ROLE: 'api' }).ROLE).toBe('api');
  });

  it('makes the embedded secret once, readable by its owner only', () => {
    const first = load({}).encryptionKeys.current;
    expect(load({}).encryptionKeys.current).toEqual(first);
    expect(statSync(join(folder, 'secret.key')).mode & 0o777).toBe(0o600);
  });

  it('derives different keys for credentials and tokens, and keeps all of them out of sight', () => {
    const config = load({ SECRET_KEY: secret, SECRET_KEY_PREVIOUS: `${secret}-before` });
    expect(config.tokenKey).not.toEqual(config.encryptionKeys.current);
    expect(config.encryptionKeys.previous).not.toEqual(config.encryptionKeys.current);
    const seen = inspect(config) + JSON.stringify(config);
    expect(seen).not.toContain(secret);
    expect(seen).not.toContain(config.tokenKey.toString('hex').slice(0, 16));
  });
});

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}
