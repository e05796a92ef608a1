import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, keyId } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { UnreadableCredentialError } from './model.errors.js';

/** Where a credential is stored: it cannot be read from anywhere else. */
export interface CredentialPlace {
  readonly tenantId: string;
  readonly recordKind: string;
  readonly recordId: number;
}

export function modelPlace(tenantId: string, recordId: number): CredentialPlace {
  return { tenantId, recordKind: 'model', recordId };
}

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D, 8.2: 96 random bits; and the full tag. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts credentials for the database: AES-256-GCM with tenant and record as associated data, so that text copied to
 * another row does not decrypt. Form: `v1.<key id>.<nonce>.<tag>.<ciphertext>`, the last three in base64url.
 */
@Injectable()
export class CredentialVault {
  private readonly current: { readonly id: string; readonly key: Buffer };
  private readonly keys: ReadonlyMap<string, Buffer>;
  /** What a text under the previous key begins with; undefined when there is no previous key. */
  readonly previousPrefix: string | undefined;

  constructor(@Inject(CONFIG) config: Config) {
    const { current, previous } = config.encryptionKeys;
    this.current = { id: keyId(current), key: current };
    this.keys = new Map([current, ...(previous ? [previous] : [])].map((key) => [keyId(key), key]));
    const hasPrevious = previous !== undefined && keyId(previous) !== this.current.id;
    this.previousPrefix = hasPrevious ? `${VERSION}.${keyId(previous)}.` : undefined;
  }

  seal(place: CredentialPlace, credential: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.current.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedData(place));
    const text = Buffer.concat([cipher.update(credential, 'utf8'), cipher.final()]);
    const parts = [nonce, cipher.getAuthTag(), text].map((part) => part.toString('base64url'));
    return [VERSION, this.current.id, ...parts].join('.');
  }

  /** The credential. UnreadableCredentialError for a text of another place or key, or a changed one. */
  open(place: CredentialPlace, sealed: string): string {
    const [version, id, nonce, tag, text, ...rest] = sealed.split('.');
    const key = this.keys.get(id ?? '');
    if (version !== VERSION || !key || !nonce || !tag || text === undefined || rest.length > 0) {
      throw new UnreadableCredentialError();
    }
    try {
      const decipher = createDecipheriv(CIPHER, key, bytes(nonce), { authTagLength: TAG_BYTES });
      decipher.setAAD(associatedData(place));
      decipher.setAuthTag(bytes(tag));
      return Buffer.concat([decipher.update(bytes(text)), decipher.final()]).toString('utf8');
    } catch {
      throw new UnreadableCredentialError();
    }
  }
}

function associatedData({ tenantId, recordKind, recordId }: CredentialPlace): Buffer {
  return Buffer.from(`${tenantId}:${recordKind}:${recordId}`);
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
