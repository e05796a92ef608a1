import {
  Flag,
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  Id,
  OneOf,
  PageQuery,
  Text,
  Whole,
} from '../../platform/http/index.js';

const STATUS = ['0', '1'];

export class TenantListQuery extends PageQuery {
  @Text({ optional: true })
  tenantId?: string;

  @Text({ optional: true, description: 'Part of the name' })
  companyName?: string;

  @Text({ optional: true, description: 'Part of the name' })
  contactUserName?: string;

  @Text({ optional: true, description: '0 enabled, 1 disabled' })
  status?: string;
}

/** What can be said of a tenant besides its name. */
class TenantDto {
  @Text({ optional: true, max: 50 })
  contactUserName?: string;

  @Text({ optional: true, max: 30 })
  contactPhone?: string;

  @Text({ optional: true, max: 50 })
  licenseNumber?: string;

  @Text({ optional: true, max: 200 })
  address?: string;

  @Text({ optional: true, max: 200, description: 'Host name of the page its people sign in at' })
  domain?: string;

  @Text({ optional: true, max: 500 })
  intro?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;

  @Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    example: '2030-12-31 00:00:00',
    description: 'From then on nobody of it can sign in; empty: never',
  })
  expireTime?: string;

  @Whole({ optional: true, min: -1, max: 1_000_000, description: 'Users at most; -1: any number' })
  accountCount?: number;

  @OneOf(STATUS, { optional: true })
  status?: string;

  @Flag({ optional: true, description: 'Whether people may make a user for themselves' })
  registerEnabled?: boolean;
}

export class NewTenantDto extends TenantDto {
  @Text({ max: 100, example: 'Example Ltd' })
  companyName: string;

  @Text({
    optional: true,
    pattern: /^\d{6}$/,
    patternMessage: 'must be six digits',
    description: 'Random when absent',
  })
  tenantId?: string;

  @Text({
    min: 2,
    max: 64,
    pattern: /^\S+$/,
    patternMessage: 'must not contain spaces',
    description: 'Name of its first administrator',
  })
  username: string;

  @Text({ min: 5, max: 72, description: 'Password of its first administrator' })
  password: string;
}

export class ChangedTenantDto extends TenantDto {
  @Id()
  id: number;

  @Text({ optional: true, min: 1, max: 100 })
  companyName?: string;
}

export class TenantStatusDto {
  @Id()
  id: number;

  @OneOf(STATUS)
  status: string;
}
