import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { LoginOnly, Public } from '../platform/access/index.js';
import { ConflictError } from '../platform/error/index.js';
import { AnswersArray, AnswersStatus, text, time, View } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';

class EmailUnavailableError extends ConflictError {
  constructor() {
    super(
      msg`Codes by e-mail are not available: this service sends no mail. Ask an administrator for an account.`,
    );
  }
}

class QrCodeUnavailableError extends ConflictError {
  constructor() {
    super(msg`Signing in with a QR code is not available. Use your user name and password.`);
  }
}

class AccountUnavailableError extends ConflictError {
  constructor() {
    super(
      msg`Accounts of other services cannot be used here. Ask an administrator about single sign-on.`,
    );
  }
}

export class LinkedAccountView extends View({
  id: text({ example: '1' }),
  source: text({ example: 'github' }),
  userName: text({ example: 'jo' }),
  nickName: text({ example: 'Jo' }),
  avatar: text({ example: '' }),
  createTime: time(),
}) {}

/** Ways to sign in that existing clients offer and this service does not have. They show the message of the answer. */
@ApiTags('existing consoles')
@Controller()
export class OtherSignInsController {
  /** A code by e-mail for the registration form. Always refused, because this service sends no mail. */
  @Get('resource/email/code')
  @Public()
  @AnswersStatus()
  sendCode(): never {
    throw new EmailUnavailableError();
  }

  /** A QR code to sign in with. Always refused. */
  @Get('user/qrcode')
  @Public()
  @AnswersStatus()
  qrCode(): never {
    throw new QrCodeUnavailableError();
  }

  /** The accounts of other services that are linked to the caller's: none. Those of single sign-on are not shown here. */
  @Get('system/social/list')
  @LoginOnly()
  @AnswersArray(LinkedAccountView)
  linked(): LinkedAccountView[] {
    return [];
  }

  /** Where to sign in with an account of another service, or link it. Always refused. */
  @Get('auth/binding/:source')
  @Public()
  @AnswersStatus()
  link(@Param('source') _source: string): never {
    throw new AccountUnavailableError();
  }
}
