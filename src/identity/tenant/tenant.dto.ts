import {
  BasedOnRevision,
  Flag,
  flag,
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  Id,
  Input,
  integer,
  nullable,
  number,
  OneOf,
  oneOf,
  pageFields,
  recordRevision,
  sheetOf,
  text,
  Text,
  time,
  View,
  Whole,
} from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { USER_NAME } from '../user/user.dto.js';

const STATUS = ['0', '1'];

export class TenantListQuery extends Input({
  ...pageFields(
    'id',
    'tenantId',
    'companyName',
    'contactUserName',
    'contactPhone',
    'licenseNumber',
    'address',
    'domain',
    'intro',
    'remark',
    'expireTime',
    'accountCount',
    'status',
    'registerEnabled',
    'createTime',
  ),
  tenantId: Text({ optional: true }),
  companyName: Text({ optional: true, description: 'Part of the name' }),
  contactUserName: Text({ optional: true, description: 'Part of the name' }),
  contactPhone: Text({ optional: true, description: 'Part of the number' }),
  status: Text({ optional: true, description: '0 enabled, 1 disabled' }),
}) {}

/** The optional fields of a tenant. */
const tenantFields = {
  contactUserName: Text({ optional: true, max: 50 }),
  contactPhone: Text({ optional: true, max: 30 }),
  licenseNumber: Text({ optional: true, max: 50 }),
  address: Text({ optional: true, max: 200 }),
  domain: Text({ optional: true, max: 200, description: 'Host name of its sign-in page' }),
  intro: Text({ optional: true, max: 500 }),
  remark: Text({ optional: true, max: 500 }),
  expireTime: Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    example: '2030-12-31 00:00:00',
    description: 'Its users cannot sign in from then on; empty: never',
  }),
  accountCount: Whole({
    optional: true,
    min: -1,
    max: 1_000_000,
    description: 'Limit of users; -1: none',
  }),
  status: OneOf(STATUS, { optional: true }),
  registerEnabled: Flag({ optional: true, description: 'Whether people may register' }),
};

export class NewTenantDto extends Input({
  ...tenantFields,
  companyName: Text({ max: 100, example: 'Example Ltd' }),
  tenantId: Text({
    optional: true,
    pattern: /^\d{6}$/,
    patternMessage: msg`must be six digits`,
    description: 'Default: random',
  }),
  username: Text({
    ...USER_NAME,
    description: 'User name of the first administrator',
  }),
  password: Text({ min: 5, max: 72, description: 'Password of the first administrator' }),
}) {}

export class ChangedTenantDto extends Input({
  ...tenantFields,
  id: Id(),
  revision: BasedOnRevision(),
  companyName: Text({ optional: true, min: 1, max: 100 }),
}) {}

export class TenantStatusDto extends Input({
  id: Id(),
  status: OneOf(STATUS),
}) {}

/** A package of functions for a tenant. Plinth has one package, because the form of existing consoles needs a choice. */
export class TenantPackageView extends View({
  packageId: integer({ example: 1 }),
  packageName: text({ example: 'All functions' }),
}) {}

export const ALL_FUNCTIONS: TenantPackageView = { packageId: 1, packageName: 'All functions' };

export class TenantView extends View({
  id: number({ example: 1 }),
  revision: recordRevision(),
  tenantId: text({ example: '000000' }),
  companyName: text({ example: 'Default' }),
  contactUserName: nullable(text()),
  contactPhone: nullable(text()),
  licenseNumber: nullable(text()),
  address: nullable(text()),
  domain: text({ example: '', description: 'Empty if there is none' }),
  intro: nullable(text()),
  remark: nullable(text()),
  packageId: integer({ example: 1, description: 'Always that of the one package' }),
  expireTime: nullable(text({ example: '2030-12-31 00:00:00' })),
  accountCount: number({ example: -1 }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  registerEnabled: flag(),
  createTime: time(),
}) {}

export const tenantSheet = sheetOf<TenantView>('Tenants', {
  id: 'Id',
  tenantId: 'Tenant id',
  companyName: 'Company',
  contactUserName: 'Contact',
  contactPhone: 'Telephone',
  licenseNumber: 'Licence number',
  address: 'Address',
  domain: 'Domain',
  accountCount: ['User limit', (count) => (count < 0 ? 'None' : count)],
  status: ['Status', { 0: 'Enabled', 1: 'Disabled' }],
  expireTime: 'Expires',
  remark: 'Remark',
  createTime: 'Created',
});
