import { BlockList, isIP } from 'node:net';
import { bytesOfIpv6 } from '../http/index.js';
import { msg } from '../message/index.js';
import type { Message } from '../message/index.js';

/** A rule by which an IP address is not an ordinary public one. */
export interface AddressRule {
  readonly name: Message;
  /** Whether the address is refused by every setting; otherwise ALLOW_PRIVATE_MODEL_HOSTS can allow it. */
  readonly always: boolean;
}

interface Rule extends AddressRule {
  readonly blocked: BlockList;
}

/** The rules in their order: for an address in several ranges the first one decides. */
const RULES: readonly Rule[] = [
  // AWS and most others, AWS over IPv6, Google over IPv6, Alibaba, Oracle, Azure's wire server.
  rule(msg`cloud metadata`, true, [
    '169.254.169.254/32',
    'fd00:ec2::/32',
    'fd20:ce::254/128',
    '100.100.100.200/32',
    '192.0.0.192/32',
    '168.63.129.16/32',
  ]),
  rule(msg`link-local`, true, ['169.254.0.0/16', 'fe80::/10']),
  // On Linux a connection to 0.0.0.0 reaches the machine itself.
  rule(msg`unspecified address`, true, ['0.0.0.0/8', '::/128']),
  rule(msg`broadcast`, true, ['255.255.255.255/32']),
  rule(msg`multicast`, true, ['224.0.0.0/4', 'ff00::/8']),
  // Local-use NAT64 (RFC 8215): the position of the IPv4 address depends on the network, so it cannot be checked.
  rule(msg`translated address`, true, ['64:ff9b:1::/48']),
  rule(msg`loopback`, false, ['127.0.0.0/8', '::1/128']),
  rule(msg`private network`, false, [
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '100.64.0.0/10',
    'fc00::/7',
    'fec0::/10',
  ]),
  // IANA special-purpose registries: never the address of a public service.
  rule(msg`reserved range`, false, [
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '240.0.0.0/4',
    '100::/64',
    '2001:db8::/32',
    '3fff::/20',
    '5f00::/16',
  ]),
];

function rule(name: Message, always: boolean, cidrs: readonly string[]): Rule {
  const blocked = new BlockList();
  for (const cidr of cidrs) addCidr(blocked, cidr);
  return { name, always, blocked };
}

/** Adds `10.0.0.0/8`, `fd00::/8` or a single address. Returns false for any other text. */
export function addCidr(list: BlockList, text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  const longest = family === 4 ? 32 : 128;
  const length = prefix === undefined ? longest : Number(/^\d{1,3}$/.test(prefix) ? prefix : NaN);
  if (family === 0 || rest.length > 0 || !(length <= longest)) return false;
  list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  return true;
}

/** The first rule that matches the address, or undefined for a public one. */
export function ruleAgainst(address: string): AddressRule | undefined {
  return RULES.find(({ blocked }) => contains(blocked, address));
}

export function contains(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * The addresses that a packet may reach: for an IPv6 address that embeds an IPv4 address (mapped,
 * compatible, 6to4, Teredo, NAT64) the IPv4 address, for every other one the address itself.
 */
export function effectiveAddresses(address: string): readonly string[] {
  const plain = address.replace(/%.*$/, '');
  if (isIP(plain) !== 6) return [plain];
  const bytes = bytesOfIpv6(plain);
  const embedded = EMBEDDINGS.find(({ prefix }) => prefix.every((byte, at) => bytes[at] === byte));
  if (embedded === undefined || isUnspecifiedOrLoopback(bytes)) return [plain];
  return embedded.read(bytes);
}

interface Embedding {
  readonly prefix: readonly number[];
  read(bytes: Uint8Array): readonly string[];
}

const ZEROS_10 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const last4 = (bytes: Uint8Array): readonly string[] => [ipv4(bytes, 12)];

const EMBEDDINGS: readonly Embedding[] = [
  // RFC 4291: mapped ::ffff:a.b.c.d, then compatible ::a.b.c.d
  { prefix: [...ZEROS_10, 0xff, 0xff], read: last4 },
  { prefix: [...ZEROS_10, 0, 0], read: last4 },
  // RFC 2765: translated ::ffff:0:a.b.c.d
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], read: last4 },
  // RFC 6052: NAT64 64:ff9b::/96
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], read: last4 },
  // RFC 3056: 6to4 2002:a.b:c.d::/48
  { prefix: [0x20, 0x02], read: (bytes) => [ipv4(bytes, 2)] },
  // RFC 4380: Teredo 2001::/32, the server's address plain and the client's with every bit inverted
  {
    prefix: [0x20, 0x01, 0, 0],
    read: (bytes) => [
      ipv4(
        bytes.map((byte) => byte ^ 0xff),
        12,
      ),
      ipv4(bytes, 4),
    ],
  },
];

function ipv4(bytes: Uint8Array, at: number): string {
  return bytes.subarray(at, at + 4).join('.');
}

function isUnspecifiedOrLoopback(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 15).every((byte) => byte === 0) && (bytes[15] ?? 0) <= 1;
}
