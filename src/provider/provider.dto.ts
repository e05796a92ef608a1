import {
  BasedOnRevision,
  ICON,
  Id,
  Input,
  isBlank,
  pageFields,
  Status,
  Text,
  Whole,
} from '../platform/http/index.js';
import type { Provider } from './provider.entity.js';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

const INTEGER = 2_147_483_647;
const CODE = {
  max: 50,
  pattern: /^[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u,
  patternMessage: msg`must not be empty or hold spaces or invisible characters`,
};
const STATUS = '0 enabled, 1 disabled';

export class ProviderListQuery extends Input({
  ...pageFields(
    'id',
    'providerName',
    'providerCode',
    'providerDesc',
    'apiHost',
    'protocolVersion',
    'sortOrder',
    'status',
    'remark',
    'createTime',
    'updateTime',
    { name: 'providerName', description: 'providerDesc' },
  ),
  providerName: Text({ optional: true, description: 'Part of the name' }),
  name: Text({ optional: true, description: 'Another spelling of providerName' }),
  providerCode: Text({ optional: true }),
  apiHost: Text({ optional: true }),
  status: Status({ optional: true, description: STATUS }),
}) {}

/** The fields of both writing routes. A pair such as providerName and name means one field; one of them is enough. */
const providerFields = {
  providerName: Text({ optional: true, max: 100, example: 'Our gateway' }),
  name: Text({ optional: true, max: 100, description: 'Another spelling of providerName' }),
  providerIcon: Text({
    ...ICON,
    optional: true,
    max: 300_000,
    description: 'An address or a data URI',
  }),
  icon: Text({
    ...ICON,
    optional: true,
    max: 300_000,
    description: 'Another spelling of providerIcon',
  }),
  providerDesc: Text({ optional: true, max: 500 }),
  description: Text({ optional: true, max: 500, description: 'Another spelling of providerDesc' }),
  apiHost: Text({
    optional: true,
    max: 500,
    description: 'Copied into the form of a new model; never called by itself',
    example: 'https://api.example.com/v1',
  }),
  protocolVersion: Text({
    optional: true,
    max: 40,
    pattern: /^[\w.-]*$/,
    description: 'Version header of the messages protocol; 2023-06-01 when empty',
    example: '2023-06-01',
  }),
  sortOrder: Whole({
    optional: true,
    min: -INTEGER,
    max: INTEGER,
    description: '0 when not given',
  }),
  status: Status({ optional: true, description: STATUS }),
  remark: Text({ optional: true, max: 500 }),
};

class ProviderFields extends Input(providerFields) {}

export class CreateProviderBody extends Input({
  ...providerFields,
  providerCode: Text({
    ...CODE,
    description: 'Selects the adapter; once per tenant',
    example: 'custom_api',
  }),
}) {}

/** Fields that are absent or null stay as they are; an empty text empties its field. */
export class UpdateProviderBody extends Input({
  ...providerFields,
  id: Id(),
  revision: BasedOnRevision(),
  providerCode: Text({ ...CODE, optional: true, example: 'custom_api' }),
}) {}

/** The fields of a provider under the one name they are stored by; absent ones are not to be changed. */
export type ProviderInput = Omit<ProviderFields, 'name' | 'icon' | 'description'>;

/**
 * Reads a body in which three fields may come under either of two names. A client that changes one name and sends the
 * other back as it was read is understood: what differs from the stored value is what was meant.
 */
export function readProvider(body: ProviderFields, stored?: Provider): ProviderInput {
  const providerName = oneOf(body, 'providerName', 'name', stored?.providerName)?.trim();
  const apiHost = body.apiHost?.trim();
  if (providerName !== undefined && isBlank(providerName))
    throw new InvalidInputError(msg`providerName must not be empty.`);
  if (apiHost && !isHttpAddress(apiHost)) {
    throw new InvalidInputError(
      msg`apiHost must be an http or https address such as https://api.example.com/v1.`,
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
    msg`${first} and ${second} mean the same field, but they differ. Send one of them.`,
  );
}

function isHttpAddress(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '';
}
