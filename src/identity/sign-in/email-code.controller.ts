import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../../platform/access/index.js';
import { ConflictError } from '../../platform/error/index.js';
import { AnswersStatus } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';

class EmailUnavailableError extends ConflictError {
  constructor() {
    super(
      msg`Codes by e-mail are not available: this service sends no mail. Ask an administrator for an account.`,
    );
  }
}

/** The registration form of existing clients asks for a code by e-mail and shows the message of the answer. */
@ApiTags('sign-in')
@Public()
@Controller('resource/email')
export class EmailCodeController {
  /** Always refused, because this service sends no mail. */
  @Get('code')
  @AnswersStatus()
  send(): never {
    throw new EmailUnavailableError();
  }
}
