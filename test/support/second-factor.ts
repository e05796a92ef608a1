import { TOTP } from 'otpauth';
import { CLOCK_DRIFT } from '../../src/identity/second-factor/totp.js';
import { overrideConstants } from './override-constants.js';

const STEP_MS = 30_000;

// A code stays valid while a busy machine takes it from the app to the check.
overrideConstants(CLOCK_DRIFT, { steps: 3 });

/** An authenticator app whose clock may be one step early or late, so that three codes are valid at any time. */
export class OneTimeCodes {
  private readonly totp: TOTP;
  /** The last step whose code was shown. */
  private lastStep: number;

  constructor(readonly secret: string) {
    this.totp = new TOTP({ secret });
    this.lastStep = Math.floor(Date.now() / STEP_MS) - 2;
  }

  /** The next code that was not shown before, at most one step ahead of the clock. */
  next(): string {
    const now = Math.floor(Date.now() / STEP_MS);
    this.lastStep = Math.max(this.lastStep + 1, now - 1);
    if (this.lastStep > now + 1) throw new Error('All codes of this minute were shown.');
    return this.totp.generate({ timestamp: this.lastStep * STEP_MS });
  }

  /** A code of six digits that is not valid now. */
  wrong(): string {
    const now = Date.now();
    const valid = [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((offset) =>
      this.totp.generate({ timestamp: now + offset * STEP_MS }),
    );
    const candidates = Array.from({ length: valid.length + 1 }, (_, digit) => `${digit}`.repeat(6));
    return candidates.find((code) => !valid.includes(code)) as string;
  }
}
