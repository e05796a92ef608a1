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
  const [head = [], tail] = address
    .replace(/%.*$/, '')
    // Counts as two groups; only the first four of eight matter.
    .replace(/\d+\.\d+\.\d+\.\d+$/, '0:0')
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: 8 - head.length - (tail?.length ?? 0) }, () => '0');
  const groups = tail ? [...head, ...zeros, ...tail] : head;
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
