import type { LookupAddress } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { msg } from '../message/index.js';
import { addCidr, contains, effectiveAddresses, ruleAgainst } from './ip-address.js';
import { HostList } from './host-list.js';
import { ForbiddenAddressError } from './outbound.errors.js';

/** Names of cloud metadata services, which issue credentials; refused whatever they resolve to. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.tencentyun.com',
]);

export interface AddressRules {
  /** CIDRs, single IP addresses, host names, or `*` for every private address. */
  readonly allowedPrivateHosts: readonly string[];
  /** Ports that may be called; every port if not given. */
  readonly allowedPorts?: readonly number[];
  /**
   * Whether metadata and link-local addresses may be called: for libraries that ask the cloud for the identity of this host,
   * never for addresses that users enter.
   */
  readonly allowsHostServices?: boolean;
  /** Hosts that may be called, as HostList reads them; every host if not given. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/**
 * Decides which addresses may be called, without resolving names. Link-local, metadata, multicast and unspecified
 * addresses are always refused.
 */
export class AddressSafety {
  private readonly everyPrivateHost: boolean;
  private readonly allowedNames: ReadonlySet<string>;
  private readonly allowedAddresses = new BlockList();
  private readonly allowedPorts?: ReadonlySet<number>;
  private readonly allowedHosts?: HostList;
  private readonly allowsHostServices: boolean;

  constructor(rules: AddressRules) {
    this.allowsHostServices = rules.allowsHostServices ?? false;
    this.everyPrivateHost = rules.allowedPrivateHosts.includes('*');
    const names = rules.allowedPrivateHosts.filter(
      (entry) => !addCidr(this.allowedAddresses, entry),
    );
    this.allowedNames = new Set(names.map((name) => canonicalName(name)));
    const malformed = names.find((name) => name !== '*' && !/^[\p{L}\p{N}._-]+$/u.test(name));
    if (malformed !== undefined) {
      throw new Error(
        `ALLOW_PRIVATE_MODEL_HOSTS: "${malformed}" is neither a CIDR, an IP address, a host name nor *. Example: 10.0.0.0/8,ollama.internal`,
      );
    }
    if (rules.allowedPorts !== undefined) this.allowedPorts = new Set(rules.allowedPorts);
    if (rules.allowedHosts !== undefined) {
      this.allowedHosts = new HostList(rules.allowedHosts, { withSubdomains: false });
    }
  }

  /**
   * Checks everything that can be known without resolving the name. Returns the parsed address, which is the one to
   * call, so that no other parser can read the text differently. Throws ForbiddenAddressError.
   */
  check(address: string): URL {
    const url = parse(address);
    if (url.username !== '' || url.password !== '') {
      throw ForbiddenAddressError.always(
        msg`user name or password in the address`,
        msg`Remove it; enter the key in its own field.`,
      );
    }
    if (url.hash !== '' || address.includes('#')) {
      throw ForbiddenAddressError.always(
        msg`fragment in the address`,
        msg`Remove the # and what follows.`,
      );
    }
    this.checkPort(url);
    this.checkHost(url.hostname);
    if (this.allowedHosts?.has(url) === false) throw ForbiddenAddressError.hostNotListed();
    return url;
  }

  /**
   * Whether the operator has named the host or its address, or allows every private address: a service inside of their
   * network, which may be called without TLS.
   */
  names(hostname: string): boolean {
    const host = canonicalName(hostname);
    if (this.everyPrivateHost || this.allowedNames.has(host)) return true;
    if (isIP(host) !== 0) {
      return effectiveAddresses(host).some((address) => contains(this.allowedAddresses, address));
    }
    return /(^|\.)localhost$/.test(host) && this.allowsLoopbackName(host);
  }

  /** Checks the resolved addresses; one forbidden address refuses them all. Throws ForbiddenAddressError. */
  checkResolved(hostname: string, addresses: readonly LookupAddress[]): void {
    const name = canonicalName(hostname);
    for (const { address } of addresses) this.checkAddress(address, this.allowedNames.has(name));
  }

  private checkPort(url: URL): void {
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    if (this.allowedPorts !== undefined && !this.allowedPorts.has(port)) {
      throw ForbiddenAddressError.always(msg`port`, msg`Use the default port.`);
    }
  }

  private checkHost(hostname: string): void {
    const host = canonicalName(hostname);
    if (isIP(host) !== 0) {
      this.checkAddress(host, false);
    } else if (METADATA_NAMES.has(host)) {
      throw ForbiddenAddressError.always(msg`cloud metadata`);
    } else if (/(^|\.)localhost$/.test(host) && !this.allowsLoopbackName(host)) {
      // RFC 6761: these names are loopback, so they are refused without resolution.
      throw ForbiddenAddressError.unlessAllowed(msg`loopback`);
    }
  }

  private allowsLoopbackName(name: string): boolean {
    return (
      this.everyPrivateHost ||
      this.allowedNames.has(name) ||
      contains(this.allowedAddresses, '127.0.0.1') ||
      contains(this.allowedAddresses, '::1')
    );
  }

  private checkAddress(address: string, nameIsAllowed: boolean): void {
    for (const effective of effectiveAddresses(address)) {
      const rule = ruleAgainst(effective);
      if (rule === undefined) continue;
      if (rule.always && this.allowsHostServices) continue;
      if (rule.always) throw ForbiddenAddressError.always(rule.name);
      const allowed =
        nameIsAllowed ||
        this.everyPrivateHost ||
        contains(this.allowedAddresses, effective) ||
        contains(this.allowedAddresses, address);
      if (!allowed) throw ForbiddenAddressError.unlessAllowed(rule.name);
    }
  }
}

function parse(address: string): URL {
  const url = URL.parse(address);
  if (url === null || url.hostname === '') {
    throw ForbiddenAddressError.always(
      msg`not an address`,
      msg`Enter one such as https://api.example.com/v1.`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw ForbiddenAddressError.always(
      msg`neither http nor https`,
      msg`Enter an http or https address.`,
    );
  }
  // The URL standard drops tabs and line feeds and turns \ into /, so the text would not be the address that is called.
  if (/[\\\p{Cc}]/u.test(address)) {
    throw ForbiddenAddressError.always(
      msg`backslash or control character in the address`,
      msg`Remove it.`,
    );
  }
  return url;
}

/** The host name in lower case, without IPv6 brackets and trailing dots. */
function canonicalName(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '');
}
