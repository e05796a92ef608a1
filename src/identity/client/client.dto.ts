import {
  Id,
  number,
  nullable,
  OneOf,
  oneOf,
  PageQuery,
  Text,
  text,
  Texts,
  texts,
  time,
  View,
  Whole,
} from '../../platform/http/index.js';
import type { Client } from './client.entity.js';

const STATUS = ['0', '1'];
/** In seconds. The integer column could hold 68 years. */
const TEN_YEARS = 315_360_000;

export class ClientListQuery extends PageQuery {
  @Text({ optional: true })
  clientId?: string;

  @Text({ optional: true, description: 'Part of the key' })
  clientKey?: string;

  @Text({ optional: true, description: '0 enabled, 1 disabled' })
  status?: string;
}

/** The optional fields of a client. */
class ClientDto {
  @Text({ optional: true, max: 32, example: 'pc' })
  deviceType?: string;

  @Whole({
    optional: true,
    min: 1,
    max: TEN_YEARS,
    description: 'Seconds without a request after which a sign-in ends; applies to new sign-ins',
  })
  activeTimeout?: number;

  @Whole({
    optional: true,
    min: 1,
    max: TEN_YEARS,
    description: 'Seconds after which a sign-in ends in any case; applies to new sign-ins',
  })
  timeout?: number;

  @OneOf(STATUS, { optional: true })
  status?: string;
}

export class NewClientDto extends ClientDto {
  @Text({ max: 32, example: 'mobile' })
  clientKey: string;

  @Text({ max: 200, description: 'Stored as a digest and never returned' })
  clientSecret: string;

  @Texts({ max: 32, maxItems: 7, example: ['password'], description: 'Grant types' })
  grantTypeList: string[];
}

export class ChangedClientDto extends ClientDto {
  @Id()
  id: number;

  @Text({ optional: true, min: 1, max: 32 })
  clientKey?: string;

  @Text({ optional: true, max: 200, description: 'Empty: the stored one stays' })
  clientSecret?: string;

  @Texts({ optional: true, max: 32, maxItems: 7 })
  grantTypeList?: string[];
}

export class ClientStatusDto {
  @Id({ optional: true })
  id?: number;

  @Text({ optional: true, max: 64, description: 'Instead of id' })
  clientId?: string;

  @OneOf(STATUS)
  status: string;
}

/** A client without its secret. */
export class ClientView extends View({
  id: number({ example: 1 }),
  clientId: text({ example: 'e5cd7e4891bf95d1d19206ce24a7b32e' }),
  clientKey: text({ example: 'pc' }),
  grantTypeList: texts({ example: ['password'] }),
  grantType: text({ example: 'password' }),
  deviceType: nullable(text({ example: 'pc' })),
  activeTimeout: number({ example: 1_800 }),
  timeout: number({ example: 604_800 }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  createTime: time(),
}) {}

export function toClientView(client: Client): ClientView {
  return ClientView.of(client, { grantTypeList: client.grantType.split(',') });
}
