import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { LoginRefusedError } from '../password/passwords.js';
import type { SecondStepView, StepCode } from './second-factor.dto.js';

const MESSAGES: Readonly<Record<StepCode, Message>> = {
  SECOND_FACTOR_REQUIRED: msg`Your user has a second factor. Enter its code. If this client does not ask for one, sign in at the console of this service.`,
  SECOND_FACTOR_WRONG: msg`The second factor is wrong or was used already. Try again with a new code.`,
  SECOND_FACTOR_ENROLMENT_REQUIRED: msg`Your role requires a second factor, and you have none. Sign in at the console of this service to set one up.`,
};

/** The password is right, and the sign-in needs a second step. */
export class SecondStepError extends LoginRefusedError {
  constructor(errorCode: StepCode, step: Omit<SecondStepView, 'errorCode'>) {
    super(MESSAGES[errorCode], { data: { errorCode, ...step } satisfies SecondStepView });
  }
}

export class StepExpiredError extends LoginRefusedError {
  constructor() {
    super(msg`This step has expired or was used already. Start again.`, {
      data: { errorCode: 'SECOND_FACTOR_EXPIRED' },
    });
  }
}

/** A wrong first code. `challenge` goes on with the enrolment; a WebAuthn enrolment starts again. */
export class WrongConfirmationError extends InvalidInputError {
  constructor(challenge: string | null) {
    super(
      challenge === null
        ? msg`The browser's answer does not fit. Start again.`
        : msg`The code is wrong. Check the clock of the device, and enter the code that it shows now.`,
      { data: { errorCode: 'SECOND_FACTOR_WRONG', challenge } },
    );
  }
}
