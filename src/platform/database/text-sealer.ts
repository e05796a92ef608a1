import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyId } from '../config/index.js';
import type { Config } from '../config/index.js';

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
/** Length of the nonce (96 random bits, NIST SP 800-38D, 8.2) and of the full tag. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts secrets for the database: AES-256-GCM with their place as associated data, so that text copied to another
 * place does not decrypt. Form: `v1.<key id>.<nonce>.<tag>.<ciphertext>`, the last three in base64url.
 */
export class TextSealer {
  private readonly current: { readonly id: string; readonly key: Buffer };
  private readonly keys: ReadonlyMap<string, Buffer>;
  /** The prefix of texts under the previous key; undefined without a previous key. */
  readonly previousPrefix: string | undefined;

  constructor({ current, previous }: Config['encryptionKeys']) {
    this.current = { id: keyId(current), key: current };
    this.keys = new Map([current, ...(previous ? [previous] : [])].map((key) => [keyId(key), key]));
    const hasPrevious = previous !== undefined && keyId(previous) !== this.current.id;
    this.previousPrefix = hasPrevious ? `${VERSION}.${keyId(previous)}.` : undefined;
  }

  seal(place: string, secret: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.current.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(place));
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    const parts = [nonce, cipher.getAuthTag(), text].map((part) => part.toString('base64url'));
    return [VERSION, this.current.id, ...parts].join('.');
  }

  /** Decrypts a text; undefined if it belongs to another place or key or was changed. */
  open(place: string, sealed: string): string | undefined {
    const [version, id, nonce, tag, text, ...rest] = sealed.split('.');
    const key = this.keys.get(id ?? '');
    if (version !== VERSION || !key || !nonce || !tag || text === undefined || rest.length > 0) {
      return undefined;
    }
    try {
      const decipher = createDecipheriv(CIPHER, key, bytes(nonce), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(bytes(tag));
      return Buffer.concat([decipher.update(bytes(text)), decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
