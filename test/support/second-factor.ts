import { TOTP } from 'otpauth';

const STEP_MS = 30_000;

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
    const valid = [-2, -1, 0, 1, 2].map((offset) =>
      this.totp.generate({ timestamp: now + offset * STEP_MS }),
    );
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find(
      (code) => !valid.includes(code),
    ) as string;
  }
}
