import { isIP } from 'node:net';

const LENGTH = 64;

/**
 * What limits count a client by: its IPv4 address, or the /64 network of its IPv6 address, because one customer of a
 * provider has a whole /64. The address is that of the request, which follows TRUST_PROXY.
 */
export function clientNetwork(ip: string | null | undefined): string {
  const address = (ip ?? 'unknown').slice(0, LENGTH);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(address) !== 6) return address;
  const bytes = bytesOfIpv6(address.replace(/%.*$/, ''));
  const network = [0, 2, 4, 6].map((at) => bytes.readUInt16BE(at).toString(16));
  return `${network.join(':')}::/64`;
}

/** The 16 bytes of a valid IPv6 address, a dotted IPv4 tail included. */
export function bytesOfIpv6(address: string): Buffer {
  const [dotted = ''] = /[\d.]*\.[\d.]*$/.exec(address) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  const groupsOfDotted = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const hex = dotted === '' ? address : address.slice(0, -dotted.length) + groupsOfDotted;
  const [head = [], tail = []] = hex
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}
