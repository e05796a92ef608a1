import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/index.js';
import { AuditLog } from '../audit/index.js';
import { Database } from '../database/index.js';
import { InvalidInputError, NotFoundError } from '../error/index.js';
import { msg } from '../message/index.js';
import { HoldView, RetentionView } from './retention.dto.js';
import type {
  HoldBody,
  OwnRetentionBody,
  RetentionBody,
  RetentionRuleView,
} from './retention.dto.js';
import { RECORD_CLASSES, USER_CLASSES } from './retention.entity.js';
import type { RecordClass, TemporaryChatPolicy } from './retention.entity.js';
import { RetentionRepository } from './retention.repository.js';
import { RetentionClasses } from './retention.sweep.js';

/** The audit log serves investigations; monthly limits and bills need the usage ledger of two months. */
const MIN_DAYS: Readonly<Partial<Record<RecordClass, number>>> = { audit: 180, calls: 62 };

class RetentionDaysError extends InvalidInputError {
  constructor(recordClass: RecordClass, min: number, max: number | undefined) {
    super(
      max === undefined
        ? msg`Records of the class ${recordClass} must be kept for at least ${min} days.`
        : msg`Records of the class ${recordClass} can be kept for ${min} to ${max} days.`,
    );
  }
}

class RetentionClassError extends InvalidInputError {
  constructor(recordClass: RecordClass) {
    super(
      msg`There can be only one rule for the class ${recordClass}, and none of a user's own for calls and the audit log.`,
    );
  }
}

class TemporaryChatError extends InvalidInputError {
  constructor(policy: TemporaryChatPolicy) {
    super(
      policy === 'enforced'
        ? msg`All chats of your tenant are temporary. Leave out temporary, or send true.`
        : msg`Your tenant allows no temporary chats. Leave out temporary, or send false.`,
    );
  }
}

/** How long records are kept, and who is under legal hold. */
@Injectable()
export class RetentionService {
  constructor(
    private readonly repository: RetentionRepository,
    private readonly classes: RetentionClasses,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** The rules of the tenant, with the limits of the installation. */
  async rules({ tenantId }: Caller): Promise<RetentionView> {
    return this.viewOf(tenantId, null, RECORD_CLASSES);
  }

  /** The caller's own rules, with those of the tenant as limits. */
  async ownRules({ tenantId, userId }: Caller): Promise<RetentionView> {
    return this.viewOf(tenantId, userId, USER_CLASSES);
  }

  async update(caller: Caller, body: RetentionBody): Promise<void> {
    await this.replace(caller, null, body);
  }

  async updateOwn(caller: Caller, body: OwnRetentionBody): Promise<void> {
    await this.replace(caller, caller.userId, body);
  }

  /** Whether a new chat of the tenant is temporary. Throws TemporaryChatError where the policy refuses what is requested. */
  async isTemporaryChat(tenantId: string, requested: boolean | undefined): Promise<boolean> {
    const policy = await this.repository.temporaryChats(tenantId);
    const isRefused = policy === (requested === false ? 'enforced' : 'forbidden');
    if (requested !== undefined && isRefused) throw new TemporaryChatError(policy);
    return policy === 'enforced' || requested === true;
  }

  async holds({ tenantId }: Caller): Promise<HoldView[]> {
    return (await this.repository.holds(tenantId)).map((user) => HoldView.of(user));
  }

  /** Call it before a stored text of the caller is changed. LegalHoldError while they are under legal hold. */
  async requireNotHeld({ tenantId, userId }: Caller): Promise<void> {
    await this.repository.requireNotHeld(tenantId, userId);
  }

  /** Places a hold, or changes its reason. */
  async hold(caller: Caller, userId: number, { reason }: HoldBody): Promise<void> {
    const { tenantId, userId: placedBy } = caller;
    await this.database.transaction(async () => {
      if (!(await this.repository.hold(tenantId, userId, { reason, placedBy }))) {
        throw new NotFoundError(msg`The user`);
      }
      await this.audit.record(caller, {
        action: 'create',
        target: 'legal_hold',
        id: userId,
        detail: { reason },
      });
    });
  }

  async lift(caller: Caller, userId: number): Promise<void> {
    await this.database.transaction(async () => {
      if (!(await this.repository.lift(caller.tenantId, userId))) {
        throw new NotFoundError(msg`The legal hold`);
      }
      await this.audit.record(caller, { action: 'delete', target: 'legal_hold', id: userId });
    });
  }

  private async replace(
    caller: Caller,
    userId: number | null,
    {
      rules,
      temporaryChats,
      traceContent,
    }: OwnRetentionBody & Pick<RetentionBody, 'temporaryChats' | 'traceContent'>,
  ): Promise<void> {
    const { tenantId } = caller;
    const allowed: readonly RecordClass[] = userId === null ? RECORD_CLASSES : USER_CLASSES;
    rules.forEach(({ recordClass, days }, index) => {
      const isRepeated = rules.findIndex((rule) => rule.recordClass === recordClass) !== index;
      if (isRepeated || !allowed.includes(recordClass)) throw new RetentionClassError(recordClass);
      const min = MIN_DAYS[recordClass] ?? 1;
      const max = this.classes.maxDays(recordClass);
      if (days < min || (max !== undefined && days > max)) {
        throw new RetentionDaysError(recordClass, min, max);
      }
    });
    await this.database.transaction(async () => {
      await this.repository.replace(tenantId, userId, rules);
      if (temporaryChats) await this.repository.setTemporaryChats(tenantId, temporaryChats);
      if (traceContent !== undefined) {
        await this.repository.setTraceContent(tenantId, traceContent);
      }
      const days = Object.fromEntries(rules.map((rule) => [rule.recordClass, rule.days]));
      await this.audit.record(caller, {
        action: 'update',
        target: 'retention',
        ...(userId !== null && { id: userId }),
        detail: { days, temporaryChats, traceContent },
      });
    });
  }

  private async viewOf(
    tenantId: string,
    userId: number | null,
    classes: readonly RecordClass[],
  ): Promise<RetentionView> {
    const rules = await this.daysOf(tenantId, userId);
    const tenantRules = userId === null ? undefined : await this.daysOf(tenantId, null);
    const views = classes.map((recordClass): RetentionRuleView => {
      const limits = [this.classes.maxDays(recordClass), tenantRules?.get(recordClass)];
      const maxDays = Math.min(...limits.map((limit) => limit ?? Infinity));
      return {
        recordClass,
        days: rules.get(recordClass) ?? null,
        minDays: MIN_DAYS[recordClass] ?? 1,
        maxDays: maxDays === Infinity ? null : maxDays,
      };
    });
    const temporaryChats = await this.repository.temporaryChats(tenantId);
    const traceContent = await this.repository.traceContent(tenantId);
    return RetentionView.of({ rules: views, temporaryChats, traceContent });
  }

  private async daysOf(
    tenantId: string,
    userId: number | null,
  ): Promise<ReadonlyMap<RecordClass, number>> {
    const rules = await this.repository.rules(tenantId, userId);
    return new Map(rules.map(({ recordClass, days }) => [recordClass, days]));
  }
}
