import { BlockList, isIP } from 'node:net';
import { addCidr, contains, effectiveAddresses } from './ip-address.js';

interface HostEntry {
  /** The port that the entry is limited to; every port if undefined. */
  readonly port?: number;
  matches(host: string): boolean;
}

/**
 * Hosts as operators list them: names, `.suffix` and `*.suffix`, IP addresses, CIDRs, each with an optional `:port`, and
 * `*` for every host. Names are compared as they are written and never resolved.
 */
export class HostList {
  private readonly entries: readonly HostEntry[];

  /**
   * @param withSubdomains Whether a name matches its subdomains as well, as in NO_PROXY; otherwise only `.suffix` and
   * `*.suffix` do.
   */
  constructor(texts: readonly string[], { withSubdomains }: { readonly withSubdomains: boolean }) {
    this.entries = texts.map((text) => entryOf(text.trim().toLowerCase(), withSubdomains));
  }

  has(url: URL): boolean {
    if (this.entries.length === 0) return false;
    const host = canonicalHost(url.hostname);
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    return this.entries.some(
      (entry) => (entry.port === undefined || entry.port === port) && entry.matches(host),
    );
  }
}

function entryOf(text: string, withSubdomains: boolean): HostEntry {
  const { host, port } = splitPort(text);
  const limit = port === undefined ? {} : { port };
  if (host === '*') return { ...limit, matches: () => true };
  const addresses = new BlockList();
  if (addCidr(addresses, host)) {
    return {
      ...limit,
      matches: (other) =>
        isIP(other) !== 0 &&
        [other, ...effectiveAddresses(other)].some((address) => contains(addresses, address)),
    };
  }
  const suffix = host.replace(/^\*?\./, '');
  const isSuffix = suffix !== host;
  const name = canonicalHost(suffix);
  return {
    ...limit,
    matches: (other) =>
      ((withSubdomains || !isSuffix) && other === name) ||
      ((withSubdomains || isSuffix) && isIP(other) === 0 && other.endsWith(`.${name}`)),
  };
}

function splitPort(text: string): { host: string; port?: number } {
  const [, bracketed, bracketedPort] = /^\[([^\]]+)\](?::(\d+))?$/.exec(text) ?? [];
  if (bracketed !== undefined) {
    return { host: bracketed, ...(bracketedPort !== undefined && { port: Number(bracketedPort) }) };
  }
  const [, name, port] = /^([^:]+):(\d+)$/.exec(text) ?? [];
  return name === undefined ? { host: text } : { host: name, port: Number(port) };
}

/** The host as a URL spells it: ASCII, in lower case, without IPv6 brackets and trailing dots. */
function canonicalHost(host: string): string {
  const spelled = URL.parse(
    `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}/`,
  );
  return (spelled?.hostname ?? host)
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '');
}
