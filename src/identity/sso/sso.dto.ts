import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import {
  BasedOnRevision,
  Flag,
  Id,
  Ids,
  Input,
  Nested,
  OneOf,
  pageFields,
  ruleText,
  Text,
} from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';

const STATUS = ['0', '1'];
const MAX_MAPPINGS = 200;
export const MAX_BREAK_GLASS = 100;

export class RoleMappingBody extends Input({
  value: Text({
    max: 255,
    example: 'engineering',
    description: 'A value of groupsClaim; * for every user of the provider',
  }),
  roleId: Id({ description: 'The role that users with the value get' }),
}) {}

function RoleMappingList(): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      type: [RoleMappingBody],
      required: false,
      description:
        'At every sign-in a user gets of these roles exactly those whose value they have; other roles stay',
    }),
    IsOptional(),
    IsArray({ message: ruleText(msg`roleMapping must be a list`) }),
    ArrayMaxSize(MAX_MAPPINGS, {
      message: ruleText(msg`roleMapping has more than ${MAX_MAPPINGS} entries`),
    }),
    Nested(() => RoleMappingBody, {
      each: true,
      message: msg`each entry of roleMapping must be an object`,
    }),
  );
}

export class SsoProviderListQuery extends Input({
  ...pageFields('id', 'name', 'issuer', 'clientId', 'status', 'createTime'),
  name: Text({ optional: true, description: 'Part of the name' }),
}) {}

const providerFields = {
  clientSecret: Text({
    optional: true,
    max: 2_000,
    description: 'Without one the service is a public client. Never shown again',
  }),
  scopes: Text({
    optional: true,
    max: 500,
    example: 'openid profile email offline_access',
    description: 'Separated by spaces; default: openid profile email',
  }),
  groupsClaim: Text({
    optional: true,
    clearable: true,
    max: 200,
    example: 'groups',
    description: 'The claim with the groups of a user; a.b leads into objects',
  }),
  allowCreate: Flag({
    optional: true,
    description: 'Whether the first sign-in creates a user; default: no',
  }),
  provisioned: Flag({
    optional: true,
    description:
      'Whether its users and groups come by SCIM: a first sign-in finds the user by externalId, and groups give the roles of roleMapping; default: no',
  }),
  status: OneOf(STATUS, { optional: true, description: '0 enabled, 1 disabled' }),
};

export class NewSsoProviderDto extends Input({
  ...providerFields,
  name: Text({ max: 100, example: 'Company account', description: 'Shown on the sign-in page' }),
  draft: Text({
    optional: true,
    min: 1,
    max: 100,
    description: 'Of `GET /system/sso/draft`, for the addresses that it has answered',
  }),
  issuer: Text({ max: 500, example: 'https://login.example.com/realms/company' }),
  clientId: Text({ max: 255, example: 'plinth' }),
}) {
  @RoleMappingList()
  roleMapping?: RoleMappingBody[];
}

export class ChangedSsoProviderDto extends Input({
  ...providerFields,
  id: Id(),
  revision: BasedOnRevision(),
  name: Text({ optional: true, min: 1, max: 100 }),
  issuer: Text({
    optional: true,
    min: 1,
    max: 500,
    description:
      'Only until a user has signed in, and with the clientSecret for it. For a provisioned provider the caller needs system:scim:provision',
  }),
  clientId: Text({ optional: true, min: 1, max: 255 }),
}) {
  @RoleMappingList()
  roleMapping?: RoleMappingBody[];
}

export class SsoSettingsDto extends Input({
  passwordLogin: Flag({
    optional: true,
    description: 'Whether users of the tenant sign in with passwords. Break-glass users always do',
  }),
  breakGlassUserIds: Ids({
    optional: true,
    maxItems: MAX_BREAK_GLASS,
    description: 'Replaces the users who can always sign in with their password',
  }),
}) {}

export class SsoChoicesQuery extends Input({
  tenantId: Text({ optional: true, max: 20, example: '000000', description: 'Default: 000000' }),
}) {}

export class SsoStartQuery extends Input({
  clientId: Text({ optional: true, max: 64, description: 'The client that signs the user in' }),
  returnTo: Text({
    optional: true,
    max: 2_000,
    example: '/models',
    description: 'A path of the console to open afterwards',
  }),
}) {}

export class SsoConnectDto extends Input({
  password: Text({ max: 200, description: 'The present password of the user' }),
  returnTo: Text({
    optional: true,
    max: 2_000,
    example: '/account',
    description: 'A path of the console to open afterwards; `ssoError` names a refusal',
  }),
}) {}

export class SsoDisconnectDto extends Input({
  password: Text({
    optional: true,
    max: 200,
    description: 'The present password, where no other connection signs the user in',
  }),
}) {}

export class DisconnectedUserDto extends Input({ userId: Id() }) {}

/** What providers send back; they may add more. */
export class SsoCallbackQuery extends Input({
  code: Text({ optional: true, max: 10_000 }),
  state: Text({ optional: true, max: 1_000 }),
  error: Text({ optional: true, max: 1_000 }),
}) {}

export class SsoExchangeDto extends Input({
  clientId: Text({ max: 64, example: 'e5cd7e4891bf95d1d19206ce24a7b32e' }),
  code: Text({ max: 200, description: 'Of the address that the sign-in has led to; once' }),
}) {}

export class LogoutTokenDto extends Input({
  logout_token: Text({ optional: true, max: 20_000, description: 'A signed JWT' }),
}) {}
