import { describe, expect, it } from '@jest/globals';
import { Secret, TOTP, URI } from 'otpauth';
import { enrolmentAddress, randomSecret, stepOf } from './totp.js';

/** "12345678901234567890", the secret of RFC 6238, appendix B, and of RFC 4226, appendix D. */
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('time-based codes', () => {
  // RFC 6238, appendix B, SHA-1. Its codes have eight digits; six are their last ones (RFC 4226, 5.3).
  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('are those of RFC 6238 at %i seconds', (seconds, eightDigits) => {
    const step = stepOf(RFC_SECRET, eightDigits.slice(2), seconds * 1_000);
    expect(step).toBe(Math.floor(seconds / 30));
  });

  it('may be one step early or late, and no more', () => {
    const now = 1_234_567_890_000;
    const step = Math.floor(now / 30_000);
    const codeAt = (offset: number) =>
      new TOTP({ secret: RFC_SECRET }).generate({ timestamp: now + offset * 30_000 });
    const steps = [-2, -1, 0, 1, 2].map((offset) => stepOf(RFC_SECRET, codeAt(offset), now));
    expect(steps).toEqual([undefined, step - 1, step, step + 1, undefined]);
  });

  it.each(['', '12345', '1234567', 'abcdef', '000000'])('are not %j', (code) => {
    expect(stepOf(RFC_SECRET, code, 59_000)).toBeUndefined();
  });

  it('have secrets of 160 bits, which the address names', () => {
    const secret = randomSecret();
    expect(Secret.fromBase32(secret).bytes).toHaveLength(20);
    expect(URI.parse(enrolmentAddress(secret, 'jo@example.com'))).toMatchObject({
      issuer: 'Plinth',
      label: 'jo@example.com',
      algorithm: 'SHA1',
      digits: 6,
      period: 30,
      secret: { base32: secret },
    });
  });
});
