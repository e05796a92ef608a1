import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { signToken } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { EventBus } from '../../platform/event/index.js';
import type { Client } from '../client/client.entity.js';
import { WrongPasswordError } from '../identity.errors.js';
import type { User } from '../user/user.entity.js';
import { LoginSessionRepository } from './login-session.repository.js';

/** From where somebody signs in. */
export interface SignInOrigin {
  readonly ip: string | undefined;
  readonly userAgent: string | undefined;
}

export interface OpenedSignIn {
  readonly token: string;
  readonly seconds: number;
}

const IP_LENGTH = 64;
const USER_AGENT_LENGTH = 300;

/** Opens and ends sign-ins. */
@Injectable()
export class SignInService {
  constructor(
    private readonly sessions: LoginSessionRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly bus: EventBus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** For a user whose password was just verified. */
  async open(user: User, client: Client, origin: SignInOrigin): Promise<OpenedSignIn> {
    const id = randomUUID();
    const expireTime = new Date(Date.now() + client.timeout * 1_000);
    await this.database.transaction(async () => {
      const session = {
        id,
        tenantId: user.tenantId,
        userId: user.id,
        clientId: client.clientId,
        ip: origin.ip?.slice(0, IP_LENGTH) ?? null,
        userAgent: origin.userAgent?.slice(0, USER_AGENT_LENGTH) ?? null,
        activeTimeout: client.activeTimeout,
        expireTime,
      };
      if (!(await this.sessions.open(session, user.passwordHash))) throw new WrongPasswordError();
      const { tenantId, userName } = user;
      await this.audit.record(
        { tenantId, userName, userId: user.id },
        { action: 'login', target: 'user', id: user.id, detail: { clientKey: client.clientKey } },
      );
    });
    const claims = {
      sid: id,
      tenantId: user.tenantId,
      userId: user.id,
      userName: user.userName,
      clientid: client.clientId,
      exp: Math.floor(expireTime.getTime() / 1_000),
    };
    const token = signToken(claims, this.config.tokenKey);
    return { token, seconds: client.timeout };
  }

  /** Ends the caller's own sign-in, and with it its streams and the switch to another tenant. */
  async signOut(caller: Caller): Promise<void> {
    await this.database.transaction(async () => {
      await this.sessions.end(caller.homeTenantId, caller.loginSessionId);
      await this.audit.record(atHome(caller), {
        action: 'logout',
        target: 'user',
        id: caller.userId,
      });
      await this.announceEnd(caller.homeTenantId);
    });
  }

  /** Ends a user's sign-in in the tenant the caller works in. */
  async end(actor: Caller, id: string, userId: number): Promise<void> {
    await this.database.transaction(async () => {
      await this.sessions.end(actor.tenantId, id);
      await this.audit.record(actor, { action: 'revoke', target: 'user', id: userId });
      await this.announceEnd(actor.tenantId);
    });
  }

  /** Open streams of ended sign-ins stop once the transaction is committed. */
  private async announceEnd(tenantId: string): Promise<void> {
    await this.database.afterCommit(() => this.bus.publish('access.changed', { tenantId }));
  }
}

/** The caller in the own tenant, whichever one it has switched to. */
export function atHome(caller: Caller): Caller {
  return { ...caller, tenantId: caller.homeTenantId };
}
