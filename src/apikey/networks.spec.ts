import { describe, expect, it } from '@jest/globals';
import { isNetwork, withinNetworks } from './networks.js';

describe('a network', () => {
  it.each(['10.0.0.0/8', '10.1.2.3', '2001:db8::/32', '::1', '0.0.0.0/0', '::ffff:10.1.2.3'])(
    'can be %s',
    (text) => {
      expect(isNetwork(text)).toBe(true);
    },
  );

  it.each([
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '::/129',
    'localhost',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '::ffff:10.0.0.0/8',
  ])('cannot be %j', (text) => {
    expect(isNetwork(text)).toBe(false);
  });

  it('has the addresses in it, however they are written', () => {
    const within = withinNetworks(['10.1.0.0/16', '192.0.2.7', '2001:db8::/32']);
    const asked = ['10.1.255.1', '::ffff:10.1.0.9', '192.0.2.7', '2001:db8:1::5'];
    const others = [
      '10.2.0.1',
      '::ffff:10.2.0.1',
      '192.0.2.8',
      '2001:db9::1',
      '::1',
      '',
      'nowhere',
    ];

    expect(asked.filter((address) => !within(address))).toEqual([]);
    expect(others.filter(within)).toEqual([]);
  });

  it('has no address when there is none', () => {
    expect(withinNetworks([])('10.1.2.3')).toBe(false);
  });
});
