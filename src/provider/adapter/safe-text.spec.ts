import { describe, expect, it, test } from '@jest/globals';
import { safeText } from './safe-text.js';

const credential = 'sk-proj-Ab12Cd34/Ef56+Gh78';
const secrets = { credential, address: 'https://models.acme-inner.lan:8443/v1' };

describe('what is removed', () => {
  test.each([
    ['the credential', `bad key ${credential}!`],
    ['its URL form', `bad key ${encodeURIComponent(credential)}`],
    ['its base64', `bad key ${Buffer.from(credential).toString('base64')}`],
    ['its base64url', `bad key ${Buffer.from(credential).toString('base64url')}`],
    ['a bearer header', `got "Bearer ${credential}"`],
    ['an echo masked by asterisks', 'Incorrect API key provided: sk-proj-******************Gh78.'],
    ['an echo masked by dots', 'Incorrect API key: sk-proj-Ab12...Gh78'],
    ['an echo masked by an ellipsis', 'Incorrect API key: sk-proj-Ab12…Gh78'],
    ['its beginning', 'key sk-proj-Ab12Cd34 unknown'],
    ['its end', 'key ending in f56+Gh78 unknown'],
    ['another key', 'key sk-ant-api03-xyz987 unknown'],
    ['a long token', 'request 9f8e7d6c5b4a39281706f5e4d3c2b1a0 failed'],
    ['an address', 'see https://platform.openai.com/account/api-keys for more'],
    ['a host', 'upstream models.acme-inner.lan:8443 failed'],
    ['an internal host and port', 'connect to worker-3:8000 failed'],
    ['localhost', 'dial localhost:11434'],
    ['an IPv4 address', 'dial tcp 10.12.0.7:443: refused'],
    ['an IPv6 address', 'dial tcp [fd00:ec2::254]:80: refused'],
    ['a short IPv6 address', 'dial tcp [::1]:80: refused'],
  ])('%s', (_name, text) => {
    const safe = safeText(text, secrets);
    expect(safe).toMatch(/\[(removed|address)\]/);
    expect(safe).not.toMatch(
      /Ab12|Gh78|QWIxMkNk|xyz987|9f8e|openai|acme|worker-3|localhost|10\.12|ec2|::1|8443|Bearer/,
    );
  });
});

test('a token made from the credential is removed like the credential itself', () => {
  const token = 'eyJhbGciOiJI.eyJhcGlf-a2V5_Ij.sig-na_tu-re';
  const text = `token ${token} of ${credential} and ${token.slice(0, 14)}… refused`;
  expect(safeText(text, { ...secrets, token })).not.toMatch(/eyJ|sig|tu-re|Ab12/);
});

describe('what is kept', () => {
  test.each([
    'model: claude-sonnet-4-5-20250929 does not exist',
    'messages.1.content: Field required',
    'deepseek-ai/deepseek-v4-flash is not available at 12:30:45',
    'max_completion_tokens must be at most 16384',
    'Rate limit reached: limit 3 / min. Please try again in 20s.',
  ])('%s', (text) => {
    expect(safeText(text, secrets)).toBe(text);
  });

  it('is one line of at most 300 characters', () => {
    expect(safeText('a\n\tb\u0000c', secrets)).toBe('a b c');
    expect(safeText('word '.repeat(200), secrets)).toHaveLength(300);
  });

  it('is nothing of a web page', () => {
    expect(safeText('<html><body>502 Bad Gateway</body></html>', secrets)).toBe('');
  });

  it('is all of a text without a credential, or with one too short to be secret', () => {
    expect(safeText('a plain text', { address: '' })).toBe('a plain text');
    expect(safeText('a plain text', { credential: 'a', address: '' })).toBe('a plain text');
  });
});
