import {
  AnyObject,
  Id,
  Input,
  flag,
  integer,
  list,
  nullable,
  number,
  OneOf,
  oneOf,
  schema,
  someOf,
  Text,
  text,
  texts,
  time,
  View,
} from '../../platform/http/index.js';
import { FACTOR_KINDS } from './second-factor.entity.js';

/** What proves a second factor. */
export const PROOF_KINDS = [...FACTOR_KINDS, 'recovery'] as const;
export type ProofKind = (typeof PROOF_KINDS)[number];

/** The answer of navigator.credentials, as JSON. */
const CREDENTIAL = { description: 'What the browser answers to `webauthn`, as JSON' };
const CHALLENGE = Text({ max: 100, description: 'Of the answer before; for one attempt' });
const CODE = Text({
  optional: true,
  max: 50,
  example: '287082',
  description: 'A code of an authenticator app, or a recovery code',
});

/** The user proves again who they are. */
const identityFields = {
  password: Text({ optional: true, max: 200, description: 'The present password, or `code`' }),
  code: CODE,
};

export class SecondStepDto extends Input({
  challenge: CHALLENGE,
  code: CODE,
  credential: AnyObject({ optional: true, ...CREDENTIAL }),
}) {}

export class EnrolmentDto extends Input({
  challenge: CHALLENGE,
  kind: OneOf(FACTOR_KINDS),
}) {}

export class OwnEnrolmentDto extends Input({
  ...identityFields,
  kind: OneOf(FACTOR_KINDS),
}) {}

export class ConfirmationDto extends Input({
  challenge: CHALLENGE,
  name: Text({ optional: true, max: 100, example: 'Phone' }),
  code: Text({ optional: true, max: 50, description: 'The first code of the app' }),
  credential: AnyObject({ optional: true, ...CREDENTIAL }),
}) {}

export class ConfirmedIdentityDto extends Input(identityFields) {}

export class RemovedFactorDto extends Input({ id: Id(), ...identityFields }) {}

/** The options of navigator.credentials, as JSON. */
const webauthnOptions = () =>
  nullable(
    schema<object>({
      type: 'object',
      additionalProperties: true,
      description: 'Options for navigator.credentials, as JSON',
    }),
  );

const challengeFields = {
  challenge: text({ description: 'Goes with the next request; valid for one attempt' }),
  expiresIn: integer({ example: 600, description: 'Seconds' }),
};

/** Why a sign-in needs a second step, or another attempt at it. */
const STEP_CODES = [
  'SECOND_FACTOR_REQUIRED',
  'SECOND_FACTOR_WRONG',
  'SECOND_FACTOR_ENROLMENT_REQUIRED',
] as const;
export type StepCode = (typeof STEP_CODES)[number];

/** `data` of a sign-in that needs a second step. */
export class SecondStepView extends View({
  errorCode: oneOf(STEP_CODES, {
    description: 'ENROLMENT: a role requires a second factor, and the user has none',
  }),
  ...challengeFields,
  kinds: someOf([...PROOF_KINDS], {
    description: 'What the user can prove; for an enrolment, what they can set up',
  }),
  webauthn: webauthnOptions(),
}) {}

export class EnrolmentView extends View({
  ...challengeFields,
  kind: oneOf([...FACTOR_KINDS]),
  secret: nullable(text({ description: 'To type into an authenticator app (base32)' })),
  address: nullable(
    text({ example: 'otpauth://totp/Plinth:jo?secret=…', description: 'For the QR code' }),
  ),
  webauthn: webauthnOptions(),
}) {}

/** `data` of a wrong first code: the enrolment goes on with this challenge. */
export class WrongConfirmationView extends View({
  errorCode: oneOf(['SECOND_FACTOR_WRONG']),
  challenge: nullable(text({ description: 'null: begin the enrolment again' })),
}) {}

const RECOVERY_CODES = {
  description: 'Shown this once. Each replaces a code of the app one time',
  example: ['abcd-efgh-ijkl-mnop'],
};

export class RecoveryCodesView extends View({ recoveryCodes: texts(RECOVERY_CODES) }) {}

export class ConfirmedFactorView extends View({
  recoveryCodes: nullable(texts({ ...RECOVERY_CODES, description: 'With the first factor only' })),
}) {}

export class SecondFactorView extends View({
  id: number({ example: 1 }),
  kind: oneOf([...FACTOR_KINDS]),
  name: text({ example: 'Phone' }),
  lastUsedTime: nullable(time()),
  createTime: time(),
}) {}

export class SecondFactorsView extends View({
  factors: list(SecondFactorView),
  recoveryCodes: integer({ example: 10, description: 'Unused ones' }),
  required: flag({ description: 'Whether a role of the user requires a second factor' }),
  kinds: someOf([...FACTOR_KINDS], { description: 'What can be set up at this address' }),
}) {}
