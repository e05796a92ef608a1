import { Id, PageQuery, Text, Whole, ZeroOrOne } from '../platform/http/index.js';
import { InvalidInputError } from '../platform/error/index.js';

const INTEGER = 2_147_483_647;
const CODE = { max: 50, pattern: /^\S+$/, patternMessage: 'must not be empty or hold spaces' };
const STATUS = '0 enabled, 1 disabled';

export class ProviderListQuery extends PageQuery {
  @Text({ optional: true, description: 'Part of the name' })
  providerName?: string;

  @Text({ optional: true, description: 'Another spelling of providerName' })
  name?: string;

  @Text({ optional: true })
  providerCode?: string;

  @Text({ optional: true })
  apiHost?: string;

  @ZeroOrOne({ optional: true, description: STATUS })
  status?: number;
}

/** What both writing routes take. A pair such as providerName and name means one field; one of them is enough. */
class ProviderFields {
  @Text({ optional: true, max: 100, example: 'Our gateway' })
  providerName?: string;

  @Text({ optional: true, max: 100, description: 'Another spelling of providerName' })
  name?: string;

  @Text({ optional: true, max: 300_000, description: 'An address or a data URI' })
  providerIcon?: string;

  @Text({ optional: true, max: 300_000, description: 'Another spelling of providerIcon' })
  icon?: string;

  @Text({ optional: true, max: 500 })
  providerDesc?: string;

  @Text({ optional: true, max: 500, description: 'Another spelling of providerDesc' })
  description?: string;

  @Text({
    optional: true,
    max: 500,
    description: 'Copied into the form of a new model; never called by itself',
    example: 'https://api.example.com/v1',
  })
  apiHost?: string;

  @Text({
    optional: true,
    max: 40,
    pattern: /^[\w.-]*$/,
    description: 'Version header of the messages protocol; 2023-06-01 when empty',
    example: '2023-06-01',
  })
  protocolVersion?: string;

  @Whole({ optional: true, min: -INTEGER, max: INTEGER, description: '0 when not given' })
  sortOrder?: number;

  @ZeroOrOne({ optional: true, description: STATUS })
  status?: number;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class CreateProviderBody extends ProviderFields {
  @Text({ ...CODE, description: 'Selects the adapter; once per tenant', example: 'custom_api' })
  providerCode: string;
}

/** Fields that are absent or null stay as they are; an empty text empties its field. */
export class UpdateProviderBody extends ProviderFields {
  @Id()
  id: number;

  @Text({ ...CODE, optional: true, example: 'custom_api' })
  providerCode?: string;
}

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
