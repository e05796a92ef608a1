import { Injectable } from '@nestjs/common';
import { requireUnlimitedKey, TenantRevision } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import type { AuditRecord } from '../platform/audit/index.js';
import { Database, isUniqueViolation } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { wireTime } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { UsageLedger } from './usage.ledger.js';
import type { ChangedLimitDto, LimitListQuery, NewLimitDto } from './limit.dto.js';
import type { LimitScope, UsageLimit } from './limit.entity.js';
import {
  LimitCapError,
  LimitExistsError,
  LimitScopeError,
  TooManyLimitsError,
} from './limit.errors.js';
import { LimitRepository } from './limit.repository.js';
import { LimitUseView, LimitView } from './limit.view.js';

/** The maximum number of limits per tenant; each call checks those that apply to it. */
const MAX_LIMIT_COUNT = 200;

type SubjectField = 'userId' | 'apiKeyId' | 'modelId' | 'groupId';

/** The field with the id, and what it names. */
const SUBJECTS: Readonly<Record<SubjectField, readonly [LimitScope, Message]>> = {
  userId: ['user', msg`The user`],
  apiKeyId: ['key', msg`The API key`],
  modelId: ['model', msg`The model`],
  groupId: ['group', msg`The group`],
};

const SUBJECT_FIELDS = Object.keys(SUBJECTS) as SubjectField[];

/** Limits of a tenant. Each change applies from the next call on, on every process. */
@Injectable()
export class LimitService {
  constructor(
    private readonly repository: LimitRepository,
    private readonly database: Database,
    private readonly revision: TenantRevision,
    private readonly audit: AuditLog,
    private readonly ledger: UsageLedger,
  ) {}

  async list({ tenantId }: Caller, query: LimitListQuery): Promise<Page<LimitView>> {
    const page = await this.repository.page(tenantId, query);
    const views = new Map((await this.views(tenantId, page.rows)).map((view) => [view.id, view]));
    return page.map(({ id }) => views.get(id) as LimitView);
  }

  async get({ tenantId }: Caller, id: number): Promise<LimitView> {
    const [view] = await this.views(tenantId, [await this.repository.limits.get(tenantId, id)]);
    return view as LimitView;
  }

  async create(caller: Caller, limit: NewLimitDto): Promise<LimitView> {
    const { tenantId, userId: createBy } = caller;
    const { measure, cap } = limit;
    requireUnlimitedKey(caller, 'models', msg`models`);
    requireCap(measure, cap);
    await this.checkSubject(tenantId, limit);
    // Usage counts from the beginning of the period.
    await this.ledger.flush();
    const id = await this.change(caller, async () => {
      const count = await this.repository.limits.count(tenantId);
      if (count >= MAX_LIMIT_COUNT) throw new TooManyLimitsError(MAX_LIMIT_COUNT);
      const row = await this.repository.limits.insert(tenantId, { ...limit, createBy });
      return { result: row.id, entries: [entry('create', row, { cap })] };
    });
    return this.get(caller, id);
  }

  async update(caller: Caller, { id, cap }: ChangedLimitDto): Promise<LimitView> {
    const { tenantId } = caller;
    requireUnlimitedKey(caller, 'models', msg`models`);
    await this.change(caller, async () => {
      const before = await this.repository.limits.lock(tenantId, id);
      requireCap(before.measure, cap);
      await this.repository.limits.update(tenantId, id, { cap });
      return { result: undefined, entries: [entry('update', before, { cap, before: before.cap })] };
    });
    return this.get(caller, id);
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    requireUnlimitedKey(caller, 'models', msg`models`);
    const { tenantId } = caller;
    await this.change(caller, async () => {
      const limits = await this.repository.withIds(tenantId, ids);
      await this.repository.limits.remove(tenantId, ids);
      return {
        result: undefined,
        entries: limits.map((limit) => entry('delete', limit, { before: limit.cap })),
      };
    });
  }

  private async change<Result>(
    caller: Caller,
    work: () => Promise<{ result: Result; entries: readonly AuditRecord[] }>,
  ): Promise<Result> {
    try {
      return await this.database.transaction(async () => {
        // This comes first: it locks the row of the tenant, so that limits are counted one change after the other.
        await this.revision.increment(caller.tenantId);
        const { result, entries } = await work();
        for (const one of entries) await this.audit.record(caller, one);
        return result;
      });
    } catch (error) {
      throw isUniqueViolation(error) ? new LimitExistsError() : error;
    }
  }

  /** Throws NotFoundError for a record that the tenant does not have. */
  private async checkSubject(tenantId: string, limit: NewLimitDto): Promise<void> {
    if (limit.tag !== undefined && limit.scope !== 'tag')
      throw new LimitScopeError('tag', limit.scope);
    for (const [field, [scope, label]] of Object.entries(SUBJECTS)) {
      const id = limit[field as SubjectField];
      if (id === undefined) continue;
      if (scope !== limit.scope) throw new LimitScopeError(field, limit.scope);
      const nameOf = await this.repository.names(tenantId, { [scope]: [id] });
      if (nameOf(scope, id) === null) throw new NotFoundError(label);
    }
  }

  private async views(tenantId: string, limits: readonly UsageLimit[]): Promise<LimitView[]> {
    if (limits.length === 0) return [];
    const uses = await this.repository.uses(tenantId, limits);
    const idsOf = (wanted: LimitScope): number[] =>
      limits.flatMap((limit) => {
        const subjectId = uses.get(limit.id)?.subjectId ?? null;
        const ids = [subjectOf(limit), subjectId].filter((id) => id !== null);
        return limit.scope === wanted ? ids : [];
      });
    const nameOf = await this.repository.names(tenantId, {
      user: idsOf('user'),
      key: idsOf('key'),
      model: idsOf('model'),
      group: idsOf('group'),
    });
    return limits.map((limit) => {
      const { scope } = limit;
      const use = uses.get(limit.id);
      const { subjectId = null, tag, used, reserved = 0, threshold = null, periodEnd } = use ?? {};
      const subject = scope === 'tenant' ? null : subjectId;
      const subjectName = tag ?? nameOf(scope, subject);
      return LimitView.of(limit, {
        name: limit.tag ?? nameOf(scope, subjectOf(limit)),
        use:
          used === undefined || used === null
            ? null
            : LimitUseView.of({ subjectId: subject, subjectName, used, reserved, threshold }),
        periodEnd: wireTime(periodEnd),
      });
    });
  }
}

function subjectOf({ userId, apiKeyId, modelId, groupId }: UsageLimit): number | null {
  return userId ?? apiKeyId ?? modelId ?? groupId;
}

function requireCap(measure: string, cap: number): void {
  if (!measure.startsWith('cost-') && !Number.isInteger(cap)) throw new LimitCapError();
}

/** An entry of the audit log: whose limit of what it is (null: each has it), and the caps after and before the change. */
function entry(
  action: AuditRecord['action'],
  limit: UsageLimit,
  caps: Readonly<{ cap?: number; before?: number }>,
): AuditRecord {
  const { id, scope, measure } = limit;
  const field = SUBJECT_FIELDS.find((one) => SUBJECTS[one][0] === scope);
  const subject = scope === 'tag' ? { tag: limit.tag } : field && { [field]: limit[field] ?? null };
  return { action, target: 'limit', id, detail: { scope, ...subject, measure, ...caps } };
}
