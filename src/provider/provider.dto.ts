import { Id, PageQuery, Text, Whole, ZeroOrOne } from '../platform/http/index.js';

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
export class ProviderFields {
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
