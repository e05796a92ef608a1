import { SignJWT } from 'jose';

const VALID_MS = 3 * 60_000;

/**
 * The bearer token of one call to Zhipu: a key of the form `id.secret` becomes a JWT that the secret signs (HS256), its
 * times in milliseconds unlike in RFC 7519. A key of another form is sent as it is.
 */
export async function zhipuToken(credential: string, now = Date.now()): Promise<string> {
  const [, id, secret] = /^([^.\s]+)\.([^.\s]+)$/.exec(credential.trim()) ?? [];
  if (id === undefined || secret === undefined) return credential;
  return new SignJWT({ api_key: id, exp: now + VALID_MS, timestamp: now })
    .setProtectedHeader({ alg: 'HS256', sign_type: 'SIGN' })
    .sign(new TextEncoder().encode(secret));
}
