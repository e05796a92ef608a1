import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { inHomeTenant, signToken } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database, withLongStatements } from '../../platform/database/index.js';
import { EventBus } from '../../platform/event/index.js';
import { clientSoftware } from '../../platform/http/index.js';
import { IntervalJob } from '../../platform/queue/index.js';
import type { Client } from '../client/client.entity.js';
import { WrongPasswordError } from '../password/passwords.js';
import { LoginSessionRepository } from './login-session.repository.js';

/** The address and browser of a sign-in. */
export interface SignInOrigin {
  readonly ip: string | undefined;
  readonly userAgent: string | undefined;
  /** The id of the provider that the user has signed in with; undefined for a password. */
  readonly ssoProvider?: number;
  /** What the user has proven beside the password; undefined for a password alone. */
  readonly secondFactor?: string;
}

export interface OpenedSignIn {
  readonly id: string;
  readonly token: string;
}

interface VerifiedUser {
  readonly id: number;
  readonly tenantId: string;
  readonly userName: string;
  readonly passwordHash: string;
}

const MAX_IP_CHARS = 64;
const MAX_USER_AGENT_CHARS = 300;
const HOUR_MS = 3_600_000;

/** Opens and ends sign-ins, and switches the tenant that one works in. Deletes expired and idle ones every hour. */
@Injectable()
export class LoginSessionService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(LoginSessionService.name);
  private sweeps: IntervalJob | undefined;

  constructor(
    private readonly sessions: LoginSessionRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly bus: EventBus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps = new IntervalJob(HOUR_MS, () => this.sweep());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.stop();
  }

  /** Opens a sign-in. Throws WrongPasswordError if the user was disabled or their password changed since it was verified. */
  async open(user: VerifiedUser, client: Client, origin: SignInOrigin): Promise<OpenedSignIn> {
    const { id: userId, tenantId, userName } = user;
    const { clientId, clientKey, deviceType } = client;
    const id = randomUUID();
    const expireTime = new Date(Date.now() + client.timeout * 1_000);
    await this.database.transaction(async () => {
      const session = {
        id,
        tenantId,
        userId,
        clientId,
        ip: origin.ip?.slice(0, MAX_IP_CHARS) ?? null,
        userAgent: origin.userAgent?.slice(0, MAX_USER_AGENT_CHARS) ?? null,
        activeTimeout: client.activeTimeout,
        expireTime,
      };
      if (!(await this.sessions.open(session, user.passwordHash))) throw new WrongPasswordError();
      await this.audit.record(
        { tenantId, userName, userId },
        {
          action: 'login',
          target: 'user',
          id: userId,
          detail: {
            clientKey,
            deviceType,
            ...(origin.ssoProvider !== undefined && { ssoProvider: origin.ssoProvider }),
            ...(origin.secondFactor !== undefined && { secondFactor: origin.secondFactor }),
            ...clientSoftware(origin.userAgent),
          },
        },
      );
    });
    const exp = Math.floor(expireTime.getTime() / 1_000);
    const claims = { sid: id, tenantId, userId, userName, clientid: clientId, exp };
    return { id, token: signToken(claims, this.config.tokenKey) };
  }

  /** Ends the sign-in of the caller, with its streams and its switch to another tenant. */
  async signOut(caller: Caller): Promise<void> {
    const { homeTenantId, loginSessionId, userId: id } = caller;
    await this.database.transactionIn(homeTenantId, async () => {
      await this.sessions.end(homeTenantId, loginSessionId);
      await this.audit.record(inHomeTenant(caller), { action: 'logout', target: 'user', id });
      await this.publishEnd(homeTenantId);
    });
  }

  /** Ends the sign-in of a user in the tenant that the actor names: the one they work in, or their own. */
  async end(actor: Caller, id: string, userId: number): Promise<void> {
    const { tenantId } = actor;
    await this.database.transactionIn(tenantId, async () => {
      await this.sessions.end(tenantId, id);
      await this.audit.record(actor, { action: 'revoke', target: 'user', id: userId });
      await this.publishEnd(tenantId);
    });
  }

  /** Switches the sign-in of a super administrator to the tenant, from the next request on; null is their own. */
  async switchTenant(caller: Caller, tenantId: string | null): Promise<void> {
    const { homeTenantId, loginSessionId } = caller;
    await this.database.transactionIn(homeTenantId, async () => {
      await this.sessions.actFor(homeTenantId, loginSessionId, tenantId);
      const id = tenantId ?? homeTenantId;
      const entry = { action: 'switch-tenant', target: 'tenant', id } as const;
      await this.audit.record(inHomeTenant(caller), entry);
    });
  }

  /** Deletes expired and idle sign-ins. Never throws: the next sweep retries what failed. */
  async sweep(): Promise<void> {
    try {
      await withLongStatements(() => this.sessions.sweep());
    } catch (error) {
      this.logger.warn({ msg: 'Failed to delete ended sign-ins', err: error });
    }
  }

  /** Open streams of ended sign-ins end after the commit. */
  private async publishEnd(tenantId: string): Promise<void> {
    await this.database.afterCommit(() => this.bus.publish('access.changed', { tenantId }));
  }
}
