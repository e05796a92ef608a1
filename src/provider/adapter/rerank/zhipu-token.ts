import jwt from 'jsonwebtoken';

const VALID_MS = 3 * 60_000;

/**
 * The bearer token of one call to Zhipu: a key of the form `id.secret` becomes a JWT that the secret signs (HS256), its
 * times in milliseconds unlike in RFC 7519. A key of another form is sent as it is.
 */
export function zhipuToken(credential: string, now = Date.now()): string {
  const [, id, secret] = /^([^.\s]+)\.([^.\s]+)$/.exec(credential.trim()) ?? [];
  if (id === undefined || secret === undefined) return credential;
  const header = { alg: 'HS256', typ: undefined, sign_type: 'SIGN' };
  const claims = { api_key: id, exp: now + VALID_MS, timestamp: now };
  return jwt.sign(claims, secret, { header, noTimestamp: true });
}
