import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';

interface ConnectorOptions {
  readonly connectMs: number;
  readonly resolve: (hostname: string) => Promise<LookupAddress[]>;
  /** Throws when one of the addresses must not be called. */
  readonly check: (hostname: string, addresses: readonly LookupAddress[]) => void;
  readonly ca?: string | Buffer;
}

/**
 * Opens connections to exactly the addresses that were checked: a name is resolved once, here, so a name server that
 * answers differently the second time (DNS rebinding) has no effect.
 */
export function connectorFor(options: ConnectorOptions): buildConnector.connector {
  return buildConnector({
    timeout: options.connectMs,
    // Pausing one HTTP/2 stream would not pause its socket.
    allowH2: false,
    lookup: checkedLookup(options),
    ...(options.ca !== undefined && { ca: options.ca }),
  });
}

function checkedLookup({ resolve, check }: ConnectorOptions): LookupFunction {
  const checked = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(hostname);
    check(hostname, addresses);
    if (addresses.length === 0) throw Object.assign(new Error('No address'), { code: 'ENOTFOUND' });
    return addresses;
  };
  return (hostname, options, callback) => {
    checked(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) =>
        callback(error instanceof Error ? error : new Error('Not resolved', { cause: error }), []),
    );
  };
}
