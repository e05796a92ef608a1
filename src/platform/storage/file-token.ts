import { createHmac, timingSafeEqual } from 'node:crypto';

/** A file whose address needs no sign-in. */
export interface SharedFile {
  readonly tenantId: string;
  readonly fileId: number;
  /** The expiry in seconds since the epoch; 0 if the address does not expire. */
  readonly expires: number;
}

/** `<tenant>.<file>.<expiry>.<signature>`; the signature is HMAC-SHA-256 over the rest, in base64url. */
const FORM = /^((\d{6})\.(\d{1,15})\.(\d{1,12}))\.([\w-]{43})$/;

/** The token of an address. Only the holder of the key can make one. */
export function signFile(key: Buffer, { tenantId, fileId, expires }: SharedFile): string {
  const signed = `${tenantId}.${fileId}.${expires}`;
  return `${signed}.${signature(key, signed).toString('base64url')}`;
}

/** The file of a token, whether or not it has expired; undefined if its signature does not fit. Takes constant time. */
export function readFileToken(key: Buffer, token: string): SharedFile | undefined {
  const [, signed, tenantId, fileId, expires, signatureText] = FORM.exec(token) ?? [];
  if (!signed || !tenantId || !signatureText) return undefined;
  const bytes = Buffer.from(signatureText, 'base64url');
  const expected = signature(key, signed);
  if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return undefined;
  return { tenantId, fileId: Number(fileId), expires: Number(expires) };
}

function signature(key: Buffer, signed: string): Buffer {
  return createHmac('sha256', key).update(`plinth file ${signed}`).digest();
}
