import {
  flag,
  Input,
  integer,
  list,
  nullable,
  Text,
  text,
  texts,
  View,
} from '../../platform/http/index.js';
import type { Client } from '../client/client.entity.js';
import { USER_NAME } from '../user/user.dto.js';

/** The fields that both existing clients send. Those of other grant types are ignored. */
export class LoginDto extends Input({
  clientId: Text({ max: 64, example: 'e5cd7e4891bf95d1d19206ce24a7b32e' }),
  grantType: Text({ max: 32, example: 'password' }),
  tenantId: Text({ optional: true, max: 20, example: '000000', description: 'Default: 000000' }),
  username: Text({ optional: true, max: 64, example: 'admin' }),
  password: Text({ optional: true, max: 200 }),
  code: Text({ optional: true, max: 20, description: 'The text of the captcha, if required' }),
  uuid: Text({ optional: true, max: 64, description: 'The id of the captcha' }),
}) {}

export class RegisterDto extends Input({
  clientId: Text({ max: 64, example: 'e5cd7e4891bf95d1d19206ce24a7b32e' }),
  grantType: Text({ max: 32, example: 'password' }),
  tenantId: Text({ optional: true, max: 20, example: '000000', description: 'Default: 000000' }),
  username: Text({
    ...USER_NAME,
    example: 'jo@example.com',
    description: 'Often an e-mail address',
  }),
  password: Text({ min: 5, max: 72 }),
  code: Text({ optional: true, max: 20, description: 'The text of the captcha, if required' }),
  uuid: Text({ optional: true, max: 64, description: 'The id of the captcha' }),
}) {}

const loginFields = {
  access_token: text({
    description: 'Send it as `Authorization: Bearer <token>` together with `clientid`',
  }),
  refresh_token: nullable(text()),
  expire_in: integer({ example: 604_800, description: 'Seconds' }),
  refresh_expire_in: nullable(integer()),
  client_id: text(),
  scope: nullable(text()),
  openid: nullable(text()),
};

export class LoginView extends View(loginFields) {}

/** A sign-in that has enrolled a second factor. */
export class EnrolledLoginView extends View({
  ...loginFields,
  recoveryCodes: texts({
    description: 'Shown this once. Each replaces the second factor one time',
  }),
}) {}

export function toLoginView(token: string, client: Client): LoginView {
  return {
    access_token: token,
    refresh_token: null,
    expire_in: client.timeout,
    refresh_expire_in: null,
    client_id: client.clientId,
    scope: null,
    openid: null,
  };
}

export class CaptchaView extends View({
  captchaEnabled: flag({
    description: 'False: no captcha is required, and the other fields are null',
  }),
  uuid: nullable(text()),
  img: nullable(text({ description: 'A PNG in Base64, without prefix' })),
}) {}

export class TenantChoiceView extends View({
  tenantId: text({ example: '000000' }),
  companyName: text({ example: 'Default' }),
  domain: nullable(text()),
}) {}

export class TenantChoicesView extends View({
  tenantEnabled: flag({ example: true }),
  voList: list(TenantChoiceView),
}) {}
