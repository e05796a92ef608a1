import { ApiProperty } from '@nestjs/swagger';

export class LoginView {
  @ApiProperty({
    description: 'Send it as `Authorization: Bearer <token>` together with `clientid`',
  })
  access_token: string;

  @ApiProperty({ type: String, nullable: true })
  refresh_token: string | null;

  @ApiProperty({ type: 'integer', example: 604_800, description: 'Seconds' })
  expire_in: number;

  @ApiProperty({ type: 'integer', nullable: true })
  refresh_expire_in: number | null;

  @ApiProperty()
  client_id: string;

  @ApiProperty({ type: String, nullable: true })
  scope: string | null;

  @ApiProperty({ type: String, nullable: true })
  openid: string | null;
}

export class CaptchaView {
  @ApiProperty({ description: 'False: no captcha is required, and the other fields are null' })
  captchaEnabled: boolean;

  @ApiProperty({ type: String, nullable: true })
  uuid: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'A PNG in Base64, without prefix' })
  img: string | null;
}

export class TenantChoiceView {
  @ApiProperty({ example: '000000' })
  tenantId: string;

  @ApiProperty({ example: 'Default' })
  companyName: string;

  @ApiProperty({ type: String, nullable: true })
  domain: string | null;
}

export class TenantChoicesView {
  @ApiProperty({ example: true })
  tenantEnabled: boolean;

  @ApiProperty({ type: [TenantChoiceView] })
  voList: TenantChoiceView[];
}
