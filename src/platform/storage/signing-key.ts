import { hkdfSync, randomBytes } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { SealedColumns } from '../database/index.js';
import type { SealedColumn } from '../database/index.js';
import { SigningKeyRepository } from './signing-key.repository.js';

const NAME = 'file-address';
const KEY_BYTES = 32;

/**
 * The key of this installation that signs addresses of files. It is generated once and kept in the database, encrypted
 * with SECRET_KEY, so that addresses stay valid when SECRET_KEY changes.
 */
@Injectable()
export class SigningKey implements OnApplicationBootstrap {
  private readonly logger = new Logger(SigningKey.name);
  private readonly sealed: SealedColumn;
  private readonly encryptionKey: Buffer;
  private loading: Promise<Buffer> | undefined;

  constructor(
    private readonly keys: SigningKeyRepository,
    sealed: SealedColumns,
    @Inject(CONFIG) config: Config,
  ) {
    this.sealed = sealed.add('signing_key', 'sealed', {
      key: 'name',
      type: 'text',
      hasTenant: false,
    });
    this.encryptionKey = config.encryptionKeys.current;
  }

  /** Reads the key at each start, so that one that cannot be decrypted is logged then. */
  async onApplicationBootstrap(): Promise<void> {
    await this.get();
  }

  /** The key, read once. A failure is not cached: the next call tries again. */
  get(): Promise<Buffer> {
    this.loading ??= this.load().catch((error: unknown) => {
      this.loading = undefined;
      throw error;
    });
    return this.loading;
  }

  private async load(): Promise<Buffer> {
    const fresh = this.sealed.seal(null, NAME, randomBytes(KEY_BYTES).toString('base64url'));
    const key = this.sealed.open(null, NAME, await this.keys.readOrInsert(NAME, fresh));
    if (key === undefined) return this.substitute();
    return Buffer.from(key, 'base64url');
  }

  /** The stored key is kept, because a start with the right SECRET_KEY can read it. */
  private substitute(): Buffer {
    this.logger.warn({
      msg: 'Failed to decrypt the key of file addresses; addresses signed so far are refused',
    });
    return Buffer.from(hkdfSync('sha256', this.encryptionKey, 'plinth', NAME, KEY_BYTES));
  }
}
