import { Injectable, Logger } from '@nestjs/common';
import { TenantRevision } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { FILLED_IN, NOT_OPENED, OPENED_FINDING, RERANK_DIALECT } from '../../provider/index.js';
import type { Findings, FindingValue, ModelConnection } from '../../provider/index.js';
import { ModelRepository } from '../model.repository.js';
import type { ResolvedModel } from '../model.resolver.js';

/** The bound exceeds the number of parameters of a service. */
const MAX_FINDINGS = 100;

const NONE: Findings = new Map();

/** Findings since a model was resolved. Its copies share the connection. */
const LEARNED = new WeakMap<ModelConnection, Map<string, FindingValue>>();

/** All findings about the service of a model. */
export function findingsOf({ connection, findings = NONE }: ResolvedModel): Findings {
  return LEARNED.get(connection) ?? findings;
}

/** Adds findings for all calls of the resolved model in this process. */
export function addFindings(model: ResolvedModel, learned: Findings): void {
  LEARNED.set(model.connection, new Map([...findingsOf(model), ...learned]));
}

/**
 * Findings of calls about the service of a model, stored with its record: parameters that the service refuses, and its
 * limits. A change of the model's provider, category, name or address erases it.
 */
@Injectable()
export class ModelFindings {
  private readonly logger = new Logger(ModelFindings.name);

  constructor(
    private readonly models: ModelRepository,
    private readonly revision: TenantRevision,
    private readonly database: Database,
  ) {}

  /** A limit that was learned; undefined where none was. */
  limitOf(model: ResolvedModel, name: 'maxInputs'): number | undefined {
    const limit = findingsOf(model).get(name);
    return typeof limit === 'number' ? limit : undefined;
  }

  /**
   * Adds findings to the model's record. This process sees them at once, others with the next resolution of the model.
   * Never fails: what cannot be stored is learned again.
   */
  async keep(model: ResolvedModel, learned: Findings): Promise<void> {
    const { tenantId, id } = model;
    if (findingsOf(model).size >= MAX_FINDINGS) return;
    addFindings(model, learned);
    try {
      await this.database.transaction(async () => {
        const isNew = await this.models.addFindings(model, Object.fromEntries(learned));
        if (isNew) await this.revision.increment(tenantId);
      });
    } catch (error) {
      this.logger.warn({ msg: 'Failed to store findings', tenantId, model: id, err: error });
    }
  }
}

/** A finding in words for the administrator of the model. */
export function describeFinding(name: string, value: FindingValue): Message {
  if (typeof value === 'number') {
    return name === 'maxInputs'
      ? msg`A call has at most ${value} texts: the service refuses more.`
      : msg`${name} is at most ${value}: the service refuses more.`;
  }
  if (name === OPENED_FINDING) {
    return value === NOT_OPENED
      ? msg`Answers begin with text.`
      : msg`Answers begin inside of thinking: only the closing tag comes.`;
  }
  if (name === 'role') {
    const refused = value === 'system' ? 'developer' : 'system';
    return msg`The role ${refused} is sent as ${value}: the service refuses it.`;
  }
  if (value === FILLED_IN) {
    return msg`${name} is filled in where a conversation lacks it: the service requires it.`;
  }
  if (name === RERANK_DIALECT) return msg`Documents are sent in the form of ${value}.`;
  if (value !== '') {
    const refused = value === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    return msg`${refused} is sent as ${value}: the service refuses it.`;
  }
  const [parameter, only] = name.replace(' beside ', ' (beside ').split('=');
  const written = name.includes(' beside ') ? `${parameter})` : [parameter, only].join(' ').trim();
  return msg`${written} is left out: the service refuses it.`;
}
