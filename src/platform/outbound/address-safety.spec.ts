import { describe, expect, it, test } from '@jest/globals';
import { AddressSafety } from './address-safety.js';
import { ForbiddenAddressError } from './outbound.errors.js';

function ruleFor(address: string, allowedPrivateHosts: readonly string[] = []): string | undefined {
  try {
    new AddressSafety({ allowedPrivateHosts }).check(address);
    return undefined;
  } catch (error) {
    if (error instanceof ForbiddenAddressError) return error.rule;
    throw error;
  }
}

describe('addresses that no setting allows', () => {
  test.each([
    ['http://169.254.169.254/latest/meta-data', 'cloud metadata'],
    ['http://0xa9fea9fe/', 'cloud metadata'],
    ['http://2852039166/', 'cloud metadata'],
    ['http://0251.0376.0251.0376/', 'cloud metadata'],
    ['http://169.254.43518/', 'cloud metadata'],
    ['http://169.254.169.254./', 'cloud metadata'],
    ['http://１６９.254.169.254/', 'cloud metadata'],
    ['http://169。254。169。254/', 'cloud metadata'],
    ['http://[::ffff:169.254.169.254]/', 'cloud metadata'],
    ['http://[::ffff:a9fe:a9fe]/', 'cloud metadata'],
    ['http://[0:0:0:0:0:ffff:a9fe:a9fe]/', 'cloud metadata'],
    ['http://[::169.254.169.254]/', 'cloud metadata'],
    ['http://[::ffff:0:169.254.169.254]/', 'cloud metadata'],
    ['http://[2002:a9fe:a9fe::1]/', 'cloud metadata'],
    ['http://[64:ff9b::a9fe:a9fe]/', 'cloud metadata'],
    ['http://[2001:0:c000:201:0:0:5601:5601]/', 'cloud metadata'],
    ['http://[2001:0:a9fe:a9fe::1]/', 'cloud metadata'],
    ['http://[64:ff9b:1::a9fe:a9fe]/', 'translated address'],
    ['http://[fd00:ec2::254]/', 'cloud metadata'],
    ['http://100.100.100.200/', 'cloud metadata'],
    ['http://metadata.google.internal/', 'cloud metadata'],
    ['http://METADATA.google.internal./', 'cloud metadata'],
    ['http://169.254.0.1/', 'link-local'],
    ['http://[fe80::1]/', 'link-local'],
    ['http://[febf::1]/', 'link-local'],
    ['http://0.0.0.0/', 'unspecified address'],
    ['http://0/', 'unspecified address'],
    ['http://[::]/', 'unspecified address'],
    ['http://255.255.255.255/', 'broadcast'],
    ['http://224.0.0.1/', 'multicast'],
    ['http://[ff02::1]/', 'multicast'],
    ['file:///etc/passwd', 'not an address'],
    ['gopher://example.com/', 'neither http nor https'],
    ['ftp://example.com/', 'neither http nor https'],
    ['example.com', 'not an address'],
    ['', 'not an address'],
    ['http://', 'not an address'],
    ['http://user@example.com/', 'user name or password in the address'],
    ['http://:secret@example.com/', 'user name or password in the address'],
    ['http://example.com@127.0.0.1/', 'user name or password in the address'],
    ['http://example.com/#x', 'fragment in the address'],
    ['http://example.com/#', 'fragment in the address'],
    ['http://example.com#@127.0.0.1/', 'fragment in the address'],
    ['http:\\\\127.0.0.1\\', 'backslash or control character in the address'],
    ['http://exa\tmple.com/', 'backslash or control character in the address'],
    ['http://example.com\0.evil/', 'not an address'],
    ['http://127.0.0.1\0.example.com/', 'not an address'],
    ['http://example.com/\n', 'backslash or control character in the address'],
  ])('%s', (address, rule) => {
    expect(ruleFor(address, ['*'])).toBe(rule);
  });
});

describe('private addresses', () => {
  test.each([
    ['http://127.0.0.1:11434/', 'loopback'],
    ['http://2130706433/', 'loopback'],
    ['http://0177.1/', 'loopback'],
    ['http://0x7f.1/', 'loopback'],
    ['http://127.1/', 'loopback'],
    ['http://[::1]/', 'loopback'],
    ['http://[::ffff:127.0.0.1]/', 'loopback'],
    ['http://localhost/', 'loopback'],
    ['http://LOCALHOST./', 'loopback'],
    ['http://api.localhost/', 'loopback'],
    ['http://10.1.2.3/', 'private network'],
    ['http://172.16.0.1/', 'private network'],
    ['http://172.31.255.255/', 'private network'],
    ['http://192.168.1.1/', 'private network'],
    ['http://100.64.0.1/', 'private network'],
    ['http://[fc00::1]/', 'private network'],
    ['http://[fdff::1]/', 'private network'],
    ['http://[2002:0a01:0203::]/', 'private network'],
    ['http://[64:ff9b::192.168.1.1]/', 'private network'],
    ['http://198.18.0.1/', 'reserved range'],
    ['http://240.0.0.1/', 'reserved range'],
    ['http://[2001:db8::1]/', 'reserved range'],
  ])('%s is refused unless allowed', (address, rule) => {
    expect(ruleFor(address)).toBe(rule);
    expect(ruleFor(address, ['*'])).toBeUndefined();
  });

  test.each([
    ['http://10.1.2.3/', ['10.0.0.0/8'], undefined],
    ['http://[::ffff:10.1.2.3]/', ['10.0.0.0/8'], undefined],
    ['http://10.1.2.3/', ['10.1.2.3'], undefined],
    ['http://10.1.2.4/', ['10.1.2.3'], 'private network'],
    ['http://[fd12::1]/', ['fd12::/16'], undefined],
    ['http://[fd13::1]/', ['fd12::/16'], 'private network'],
    ['http://localhost:1/', ['LocalHost'], undefined],
    ['http://localhost:1/', ['127.0.0.0/8'], undefined],
    ['http://169.254.169.254/', ['169.254.0.0/16'], 'cloud metadata'],
  ])('%s with %j', (address, allowed, rule) => {
    expect(ruleFor(address, allowed)).toBe(rule);
  });

  it('names the setting that would allow it, and not the host', () => {
    const check = (): unknown =>
      new AddressSafety({ allowedPrivateHosts: [] }).check('http://10.1.2.3/');
    expect(check).toThrow(/ALLOW_PRIVATE_MODEL_HOSTS/);
    expect(check).not.toThrow(/10\.1\.2\.3/);
  });
});

test.each([
  'https://api.example.com/v1',
  'http://8.8.8.8:8080/',
  'https://[2606:4700::1111]/v1?x=1',
  'https://bücher.example/',
])('%s is allowed', (address) => {
  expect(ruleFor(address)).toBeUndefined();
});

describe('resolved addresses', () => {
  const safety = new AddressSafety({ allowedPrivateHosts: ['ollama.internal'] });

  it('refuses a name of which one address is private', () => {
    const addresses = [
      { address: '93.184.216.34', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
    expect(() => safety.checkResolved('example.com', addresses)).toThrow(ForbiddenAddressError);
  });

  it('accepts a private address of an allowed name, but never metadata', () => {
    safety.checkResolved('Ollama.Internal.', [{ address: '10.0.0.1', family: 4 }]);
    expect(() =>
      safety.checkResolved('ollama.internal', [{ address: '169.254.169.254', family: 4 }]),
    ).toThrow(/cloud metadata/);
    expect(() =>
      safety.checkResolved('ollama.internal', [{ address: 'fe80::1%eth0', family: 6 }]),
    ).toThrow(/link-local/);
  });
});

test.each(['10.0.0.0/33', 'fd00::/129', '10.0.0.0/8/8', 'http://x', 'a b'])(
  'a setting with %s does not start',
  (entry) => {
    expect(() => new AddressSafety({ allowedPrivateHosts: [entry] })).toThrow(/neither a CIDR/);
  },
);

test('ports can be limited', () => {
  const safety = new AddressSafety({ allowedPrivateHosts: [], allowedPorts: [443] });
  expect(safety.check('https://example.com/').hostname).toBe('example.com');
  expect(() => safety.check('https://example.com:8443/')).toThrow(/port/);
  expect(() => safety.check('http://example.com/')).toThrow(/port/);
});
