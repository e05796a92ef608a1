import { Secret, TOTP } from 'otpauth';

/** Codes of authenticator apps: RFC 6238 with SHA-1, six digits and steps of 30 seconds, which every app supports. */
const FORM = { algorithm: 'SHA1', digits: 6, period: 30 };
const STEP_MS = FORM.period * 1_000;
/** 160 bits, as RFC 4226 recommends (section 4, R6). */
const SECRET_BYTES = 20;
/** How many steps the clock of the device may be off. */
export const CLOCK_DRIFT = { steps: 1 };

/** Random bytes in base32. */
export function randomSecret(size = SECRET_BYTES): string {
  return new Secret({ size }).base32;
}

/** The address that an app reads from a QR code. */
export function enrolmentAddress(secret: string, userName: string): string {
  return new TOTP({ ...FORM, secret, issuer: 'Plinth', label: userName }).toString();
}

/** The time step that the code belongs to; undefined for a wrong code and one of another time. */
export function stepOf(secret: string, code: string, now = Date.now()): number | undefined {
  const totp = new TOTP({ ...FORM, secret });
  const delta = totp.validate({ token: code, timestamp: now, window: CLOCK_DRIFT.steps });
  return delta === null ? undefined : Math.floor(now / STEP_MS) + delta;
}
