import { hash, randomBytes } from 'node:crypto';

/** Codes and refresh tokens name the key that they belong to, as the key itself does; logs hide what follows. */
const CODE = /^code-plinth-([\da-f]{16})-[\w-]{43}$/;
const REFRESH_TOKEN = /^refresh-plinth-([\da-f]{16})-([\w-]{43})\.[\w-]{43}$/;

export interface ReadCode {
  readonly keyId: string;
  /** SHA-256 of the whole text, in hex. */
  readonly digest: string;
}

export interface ReadRefreshToken extends ReadCode {
  /** What all refresh tokens of a connection share: it tells a former one from a made-up one. */
  readonly family: string;
}

export function newCode(keyId: string): string {
  return `code-plinth-${keyId}-${randomText()}`;
}

export function readCode(text: string): ReadCode | undefined {
  const [, keyId] = CODE.exec(text) ?? [];
  return keyId === undefined ? undefined : { keyId, digest: digestOf(text) };
}

export function newRefreshToken(keyId: string, family: string): string {
  return `refresh-plinth-${keyId}-${family}.${randomText()}`;
}

export function readRefreshToken(text: string): ReadRefreshToken | undefined {
  const [, keyId, family] = REFRESH_TOKEN.exec(text) ?? [];
  if (keyId === undefined || family === undefined) return undefined;
  return { keyId, family, digest: digestOf(text) };
}

/** 256 random bits. */
export function randomText(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256 in hex. It needs no salt, because the texts are random. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The challenge of a verifier by the method S256 (RFC 7636, 4.2). */
export function challengeOf(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}
