import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { readFileToken, signFile } from './file-address.js';

const key = randomBytes(32);
const file = { tenantId: '000000', fileId: 12, expires: 0 };

describe('the token of a file', () => {
  it('is read by the holder of the key alone', () => {
    const token = signFile(key, file);
    expect(token).toMatch(/^000000\.12\.0\.[\w-]{43}$/);
    expect(readFileToken(key, token)).toEqual(file);
    expect(readFileToken(randomBytes(32), token)).toBeUndefined();
  });

  it('names its file, tenant and expiry', () => {
    const token = signFile(key, file);
    for (const other of [
      '000001.12.0',
      '000000.1.0',
      '000000.12.1',
      '00000.012.0',
      '000000.12.00',
    ]) {
      expect([other, readFileToken(key, token.replace('000000.12.0', other))]).toEqual([
        other,
        undefined,
      ]);
    }
  });

  it.each(['', 'x', '000000.12.0', '000000.12.0.', '../../etc/passwd', '000000.12.0.ä'])(
    'is not %j',
    (token) => {
      expect(readFileToken(key, token)).toBeUndefined();
    },
  );
});
