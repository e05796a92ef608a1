import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { EventBus } from '../../platform/event/index.js';
import type { Client } from '../client/client.entity.js';
import { WrongPasswordError } from '../identity.errors.js';
import type { User } from '../user/user.entity.js';
import { LoginSessionRepository } from './login-session.repository.js';
import { LoginTokens } from './login-token.js';

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
    private readonly tokens: LoginTokens,
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly bus: EventBus,
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
    const token = await this.tokens.sign({
      sid: id,
      tenantId: user.tenantId,
      userId: user.id,
      userName: user.userName,
      clientid: client.clientId,
      exp: Math.floor(expireTime.getTime() / 1_000),
    });
    return { token, seconds: client.timeout };
  }

  /** Ends the caller's own sign-in, and with it its streams and the switch to another tenant. */
  async signOut(caller: Caller): Promise<void> {
    const { homeTenantId, loginSessionId, userId: id } = caller;
    const end = async (): Promise<void> => {
      await this.sessions.end(homeTenantId, loginSessionId);
      await this.audit.record(atHome(caller), { action: 'logout', target: 'user', id });
      await this.announceEnd(homeTenantId);
    };
    await inTenant(homeTenantId, () => this.database.transaction(end));
  }

  /** Ends a sign-in of a user of the tenant that the actor names: the one it works in, or its own. */
  async end(actor: Caller, id: string, userId: number): Promise<void> {
    const { tenantId } = actor;
    const end = async (): Promise<void> => {
      await this.sessions.end(tenantId, id);
      await this.audit.record(actor, { action: 'revoke', target: 'user', id: userId });
      await this.announceEnd(tenantId);
    };
    await inTenant(tenantId, () => this.database.transaction(end));
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
