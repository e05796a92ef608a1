import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The prefix of every API key: logs hide what follows, and secret scanners recognise it. */
export const API_KEY_PREFIX = 'sk-plinth-';

const ID_BYTES = 8;
const SECRET_BYTES = 32;
const FORM = /^sk-plinth-([\da-f]{16})-([\da-f]{64})-([\da-f]{8})$/;

/** The parts of an API key. */
export interface ReadApiKey {
  /** The public id of the key. */
  readonly keyId: string;
  /** SHA-256 of the whole key, in hex. */
  readonly digest: string;
}

export function newKeyId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

/** A new key with the id: `sk-plinth-<id>-<256 random bits>-<CRC-32 of what precedes>`, each part in hex. */
export function newApiKey(keyId: string): string {
  const start = `${API_KEY_PREFIX}${keyId}-${randomBytes(SECRET_BYTES).toString('hex')}`;
  return `${start}-${checksumOf(start)}`;
}

/** Reads a key; undefined for any other text and for a key with a wrong checksum. */
export function readApiKey(text: string): ReadApiKey | undefined {
  const [, keyId, , checksum] = FORM.exec(text) ?? [];
  if (keyId === undefined || checksum !== checksumOf(text.slice(0, -9))) return undefined;
  return { keyId, digest: apiKeyDigest(text) };
}

/** SHA-256 of the key in hex. It needs no salt, because a key has 256 random bits. */
export function apiKeyDigest(key: string): string {
  return hash('sha256', key, 'hex');
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
