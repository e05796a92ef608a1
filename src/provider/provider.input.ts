import { InvalidInputError } from '../platform/error/index.js';
import type { ProviderFields } from './provider.dto.js';

/** The fields of a provider under the one name they are stored by; absent ones are not to be changed. */
export interface ProviderInput {
  readonly providerName?: string | undefined;
  readonly providerIcon?: string | undefined;
  readonly providerDesc?: string | undefined;
  readonly apiHost?: string | undefined;
  readonly protocolVersion?: string | undefined;
  readonly sortOrder?: number | undefined;
  readonly status?: number | undefined;
  readonly remark?: string | undefined;
}

interface StoredPair {
  readonly providerName: string;
  readonly providerIcon: string | null;
  readonly providerDesc: string | null;
}

/**
 * Reads a body in which three fields may come under either of two names. A client that changes one name and sends the
 * other back as it was read is understood: what differs from the stored value is what was meant.
 */
export function readProvider(body: ProviderFields, stored?: StoredPair): ProviderInput {
  const providerName = oneOf(body, 'providerName', 'name', stored?.providerName)?.trim();
  const apiHost = body.apiHost?.trim();
  if (providerName === '') throw new InvalidInputError('providerName must not be empty.');
  if (apiHost && !isHttpAddress(apiHost)) {
    throw new InvalidInputError(
      'apiHost must be an http or https address such as https://api.example.com/v1.',
    );
  }
  return {
    providerName,
    providerIcon: oneOf(body, 'providerIcon', 'icon', stored?.providerIcon ?? ''),
    providerDesc: oneOf(body, 'providerDesc', 'description', stored?.providerDesc ?? ''),
    apiHost,
    protocolVersion: body.protocolVersion,
    sortOrder: body.sortOrder,
    status: body.status,
    remark: body.remark,
  };
}

type TextField = 'providerName' | 'name' | 'providerIcon' | 'icon' | 'providerDesc' | 'description';

function oneOf(
  body: ProviderFields,
  first: TextField,
  second: TextField,
  stored: string | undefined,
): string | undefined {
  const one = body[first];
  const other = body[second];
  if (one === undefined || other === undefined || one === other) return one ?? other;
  if (one === stored) return other;
  if (other === stored) return one;
  throw new InvalidInputError(
    `${first} and ${second} mean the same field, but they differ. Send one of them.`,
  );
}

function isHttpAddress(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '';
}
