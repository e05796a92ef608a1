import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import * as oidc from 'openid-client';
import PQueue from 'p-queue';
import { inTenant, isOutage } from '../../platform/database/index.js';
import { IntervalJob } from '../../platform/queue/index.js';
import { OidcConnections } from './oidc.connections.js';
import { isInvalidGrant, summaryOf } from './oidc.failure.js';
import { SsoRepository } from './sso.repository.js';
import type { DueIdentity } from './sso.repository.js';
import { SsoUsers } from './sso.users.js';
import { SsoVault } from './sso.vault.js';

/** The longest pause between two looks for users who are due. */
const MAX_PAUSE_SECONDS = 15;
const BATCH = 40;
const MAX_CHECK_COUNT = 8;

/** How often a provider is asked, by the refresh token, whether it still has a user. */
export const SSO_CHECK = { intervalSeconds: 5 * 60 };

/**
 * Asks the providers, by the refresh tokens, whether they still have their users. A token that is refused as invalid
 * suspends its user; every other failure, such as a provider that is away, changes nothing. Each user is asked for by one
 * process in an interval.
 */
@Injectable()
export class SsoChecks implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(SsoChecks.name);
  private job: IntervalJob | undefined;

  constructor(
    private readonly rows: SsoRepository,
    private readonly connections: OidcConnections,
    private readonly vault: SsoVault,
    private readonly users: SsoUsers,
  ) {}

  onApplicationBootstrap(): void {
    const seconds = Math.min(SSO_CHECK.intervalSeconds, MAX_PAUSE_SECONDS);
    this.job = new IntervalJob(seconds * 1_000, (stopping) => this.checkDue(stopping));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.job?.stop();
  }

  /** Checks the users who are due. Never throws: the next run continues. */
  private async checkDue(stopping: AbortSignal): Promise<void> {
    try {
      // Providers that did not answer: each further user of theirs would wait for the time limit.
      const away = new Set<number>();
      for (let due = BATCH; due === BATCH && !stopping.aborted;) {
        const identities = await this.rows.claimDue(SSO_CHECK.intervalSeconds, BATCH);
        due = identities.length;
        const queue = new PQueue({ concurrency: MAX_CHECK_COUNT });
        await Promise.all(
          identities.map((identity) =>
            queue.add(async () => {
              if (!stopping.aborted && !away.has(identity.providerId)) {
                await this.check(identity, away);
              }
            }),
          ),
        );
      }
    } catch (error) {
      if (isOutage(error)) return;
      this.logger.warn({ msg: 'Failed to check users at their providers', err: error });
    }
  }

  private async check(due: DueIdentity, away: Set<number>): Promise<void> {
    await inTenant(due.tenantId, async () => {
      try {
        await this.refresh(due);
      } catch (error) {
        if (isOutage(error)) throw error;
        if (isInvalidGrant(error)) {
          await this.users.suspend(due);
          return;
        }
        away.add(due.providerId);
        const { tenantId: tenant, providerId: provider } = due;
        const details = { tenant, provider, error: summaryOf(error) };
        this.logger.warn({ msg: 'Failed to check user at provider', ...details });
      }
    });
  }

  private async refresh(due: DueIdentity): Promise<void> {
    const { tenantId, id, providerId, refreshToken } = due;
    const token = this.vault.open(tenantId, 'sso_identity', id, refreshToken);
    if (token === undefined) {
      // A process with the right SECRET_KEY can open it; where that is gone, the next sign-in stores another.
      const details = { tenant: tenantId, provider: providerId, identity: id };
      this.logger.warn({ msg: 'Failed to decrypt refresh token; check SECRET_KEY', ...details });
      return;
    }
    const provider = await this.rows.providers.get(tenantId, providerId);
    const { configuration } = await this.connections.of(provider);
    const tokens = await oidc.refreshTokenGrant(configuration, token);
    const { refresh_token: next } = tokens;
    if (next !== undefined && next !== token) {
      const after = this.vault.seal(tenantId, 'sso_identity', id, next);
      if (!(await this.rows.replaceToken(tenantId, id, { before: refreshToken, after }))) {
        await this.replaceRenewed(due, token, after);
      }
    }
    // A new id token is optional (OpenID Connect Core 1.0, 12.2).
    await this.users.refreshGroups(provider, due, tokens.claims() ?? {});
  }

  /** Replaces the token where a change of SECRET_KEY has encrypted it again meanwhile; a sign-in has stored another one, which stays. */
  private async replaceRenewed(
    { tenantId, id }: DueIdentity,
    token: string,
    after: string,
  ): Promise<void> {
    const before = (await this.rows.identities.findOne(tenantId, { id }))?.refreshToken;
    if (!before || this.vault.open(tenantId, 'sso_identity', id, before) !== token) return;
    await this.rows.replaceToken(tenantId, id, { before, after });
  }
}
