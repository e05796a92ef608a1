import {
  Flag,
  flag,
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  Id,
  integer,
  nullable,
  number,
  OneOf,
  oneOf,
  PageQuery,
  Text,
  text,
  time,
  View,
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

/** The optional fields of a tenant. */
class TenantDto {
  @Text({ optional: true, max: 50 })
  contactUserName?: string;

  @Text({ optional: true, max: 30 })
  contactPhone?: string;

  @Text({ optional: true, max: 50 })
  licenseNumber?: string;

  @Text({ optional: true, max: 200 })
  address?: string;

  @Text({ optional: true, max: 200, description: 'Host name of its sign-in page' })
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
    description: 'Its users cannot sign in from then on; empty: never',
  })
  expireTime?: string;

  @Whole({ optional: true, min: -1, max: 1_000_000, description: 'Limit of users; -1: none' })
  accountCount?: number;

  @OneOf(STATUS, { optional: true })
  status?: string;

  @Flag({ optional: true, description: 'Whether people may register' })
  registerEnabled?: boolean;
}

export class NewTenantDto extends TenantDto {
  @Text({ max: 100, example: 'Example Ltd' })
  companyName: string;

  @Text({
    optional: true,
    pattern: /^\d{6}$/,
    patternMessage: 'must be six digits',
    description: 'Default: random',
  })
  tenantId?: string;

  @Text({
    min: 2,
    max: 64,
    pattern: /^\S+$/,
    patternMessage: 'must not contain spaces',
    description: 'User name of the first administrator',
  })
  username: string;

  @Text({ min: 5, max: 72, description: 'Password of the first administrator' })
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

export class TenantView extends View({
  id: number({ example: 1 }),
  tenantId: text({ example: '000000' }),
  companyName: text({ example: 'Default' }),
  contactUserName: nullable(text()),
  contactPhone: nullable(text()),
  licenseNumber: nullable(text()),
  address: nullable(text()),
  domain: nullable(text()),
  intro: nullable(text()),
  remark: nullable(text()),
  packageId: nullable(integer({ description: 'Always null; existing consoles read it' })),
  expireTime: nullable(text({ example: '2030-12-31 00:00:00' })),
  accountCount: number({ example: -1 }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  registerEnabled: flag(),
  createTime: time(),
}) {}
