import { Text } from '../../platform/http/index.js';

/** The fields that both existing clients send. Those of other grant types are ignored. */
export class LoginDto {
  @Text({ max: 64, example: 'e5cd7e4891bf95d1d19206ce24a7b32e' })
  clientId: string;

  @Text({ max: 32, example: 'password' })
  grantType: string;

  @Text({ optional: true, max: 20, example: '000000', description: 'Default: 000000' })
  tenantId?: string;

  @Text({ optional: true, max: 64, example: 'admin' })
  username?: string;

  @Text({ optional: true, max: 200 })
  password?: string;

  @Text({ optional: true, max: 20, description: 'The text of the captcha, if required' })
  code?: string;

  @Text({ optional: true, max: 64, description: 'The id of the captcha' })
  uuid?: string;
}

export class RegisterDto {
  @Text({ max: 64, example: 'e5cd7e4891bf95d1d19206ce24a7b32e' })
  clientId: string;

  @Text({ max: 32, example: 'password' })
  grantType: string;

  @Text({ optional: true, max: 20, example: '000000', description: 'Default: 000000' })
  tenantId?: string;

  @Text({ min: 2, max: 64, example: 'jo@example.com', description: 'Often an e-mail address' })
  username: string;

  @Text({ min: 5, max: 72 })
  password: string;

  @Text({ optional: true, max: 20, description: 'The text of the captcha, if required' })
  code?: string;

  @Text({ optional: true, max: 64, description: 'The id of the captcha' })
  uuid?: string;
}
