import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { DomainError } from '../../platform/error/index.js';
import { ModelResolver } from '../../model/index.js';
import type { HarnessSession } from './session.entity.js';
import { SecretMask } from './secret-mask.js';

/** Acquaints this process with the key of a session's model, which it need not have worked with itself. */
@Injectable()
export class ModelSecrets {
  constructor(
    private readonly models: ModelResolver,
    private readonly mask: SecretMask,
  ) {}

  /** A model that is gone, or cannot be used now, has no key that could be known. */
  async learn(caller: Caller, { modelName }: Pick<HarnessSession, 'modelName'>): Promise<void> {
    try {
      const { connection } = await this.models.resolveChat(caller, modelName);
      this.mask.learn([connection.credential ?? '']);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
}
