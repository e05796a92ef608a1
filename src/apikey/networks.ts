import { BlockList, isIP } from 'node:net';

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;
const PREFIX_LENGTH = /^\d{1,3}$/;

/** The address or network (CIDR) that a text names, or undefined. */
function readNetwork(text: string): { address: string; family: 4 | 6; prefix: number } | undefined {
  const [addressText = '', length, ...extraParts] = text.split('/');
  const address = plain(addressText);
  const family = isIP(address);
  const widest = family === 4 ? 32 : 128;
  if (family === 0 || extraParts.length > 0) return undefined;
  if (length === undefined) return { address, family: family as 4 | 6, prefix: widest };
  // The length of an IPv4 network that is written as one of IPv6 counts the bits of that.
  if (!PREFIX_LENGTH.test(length) || address !== addressText) return undefined;
  const prefix = Number(length);
  return prefix <= widest ? { address, family: family as 4 | 6, prefix } : undefined;
}

export function isNetwork(text: string): boolean {
  return readNetwork(text) !== undefined;
}

/** Whether addresses are within the networks. Any other text is outside. */
export function withinNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of networks) {
    const network = readNetwork(text);
    if (!network) continue;
    list.addSubnet(network.address, network.prefix, network.family === 4 ? 'ipv4' : 'ipv6');
  }
  return (addressText) => {
    const address = plain(addressText);
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}

/** A socket for both families names an IPv4 peer by an IPv6 address, and a link-local one with its interface. */
function plain(address: string): string {
  return address.trim().replace(MAPPED, '').replace(/%.*$/, '');
}
