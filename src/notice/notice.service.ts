import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { requireUnlimitedKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database, isUniqueViolation } from '../platform/database/index.js';
import { ConflictError, InvalidInputError } from '../platform/error/index.js';
import { wireTime } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { NewNoticeTargetView, NoticeTargetView } from './notice.dto.js';
import type { NewNoticeTargetDto, NoticeTargetListQuery } from './notice.dto.js';
import { TARGET_KINDS } from './notice.entity.js';
import type { TargetKind } from './notice.entity.js';
import { NoticeRepository } from './notice.repository.js';

const MAX_TARGET_COUNT = 20;
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 24;
const MAILBOX = /^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/;

/** Addresses of a tenant that are told when a share of a limit is used. */
@Injectable()
export class NoticeService {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: NoticeRepository,
    private readonly database: Database,
    private readonly http: OutboundHttp,
    private readonly audit: AuditLog,
  ) {}

  /** Mail is left out where the installation sends none. */
  get kinds(): TargetKind[] {
    const { SMTP_URL, MAIL_FROM } = this.config;
    return TARGET_KINDS.filter((kind) => kind !== 'mail' || (SMTP_URL && MAIL_FROM));
  }

  async list({ tenantId }: Caller, query: NoticeTargetListQuery): Promise<Page<NoticeTargetView>> {
    const page = await this.repository.targets.page(tenantId, query, {}, { id: 'DESC' });
    const last = await this.repository.last(
      tenantId,
      page.rows.map(({ id }) => id),
    );
    return page.map((target) => {
      const { state = null, time, error = null } = last.get(target.id) ?? {};
      return NoticeTargetView.of(target, {
        lastState: state,
        lastTime: time ? wireTime(time) : null,
        lastError: error,
      });
    });
  }

  async create(
    caller: Caller,
    { kind, address }: NewNoticeTargetDto,
  ): Promise<NewNoticeTargetView> {
    const { tenantId, userId: createBy } = caller;
    requireUnlimitedKey(caller, 'models', msg`models`);
    this.requireAddress(kind, address);
    const secret = kind === 'webhook' ? newSecret() : null;
    const sealed = secret && this.repository.secrets.seal(tenantId, address, secret);
    try {
      return await this.database.transaction(async () => {
        if ((await this.repository.targets.count(tenantId)) >= MAX_TARGET_COUNT) {
          throw new ConflictError(
            msg`A tenant can have at most ${MAX_TARGET_COUNT} addresses for notices. Remove one first.`,
          );
        }
        const row = { kind, address, secret: sealed, createBy };
        const { id } = await this.repository.targets.insert(tenantId, row);
        await this.audit.record(caller, {
          ...{ action: 'create', target: 'notice_target', id, detail: { kind } },
        });
        return NewNoticeTargetView.of({ id, secret });
      });
    } catch (error) {
      throw isUniqueViolation(error)
        ? new ConflictError(msg`This address gets notices already.`)
        : error;
    }
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    requireUnlimitedKey(caller, 'models', msg`models`);
    await this.database.transaction(async () => {
      await this.repository.targets.remove(caller.tenantId, ids);
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'notice_target', id });
      }
    });
  }

  private requireAddress(kind: TargetKind, address: string): void {
    if (!this.kinds.includes(kind)) {
      throw new ConflictError(
        msg`This installation sends no mail. Ask its operator to set SMTP_URL and MAIL_FROM, or add a webhook.`,
      );
    }
    if (kind === 'webhook') this.http.assertAddressAllowed(address);
    else if (!MAILBOX.test(address)) {
      throw new InvalidInputError(msg`address must be one mailbox such as costs@example.com.`);
    }
  }
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
