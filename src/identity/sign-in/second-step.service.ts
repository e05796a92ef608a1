import { Injectable } from '@nestjs/common';
import { AuditLog } from '../../platform/audit/index.js';
import { inTenant } from '../../platform/database/index.js';
import { clientSoftware } from '../../platform/http/index.js';
import type { Client } from '../client/client.entity.js';
import { ClientRepository } from '../client/client.repository.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import type { SignInOrigin } from '../login-session/login-session.service.js';
import { accountOf } from '../password/passwords.js';
import { challengeFor, Challenges } from '../second-factor/challenges.js';
import type { Challenge } from '../second-factor/challenges.js';
import type {
  ConfirmationDto,
  EnrolmentDto,
  EnrolmentView,
  SecondStepDto,
} from '../second-factor/second-factor.dto.js';
import { SecondStepError, StepExpiredError } from '../second-factor/second-factor.errors.js';
import { SecondFactorRepository } from '../second-factor/second-factor.repository.js';
import type { FactorState } from '../second-factor/second-factor.repository.js';
import { SecondFactorService } from '../second-factor/second-factor.service.js';
import { tenantProblem } from '../tenant/tenant.entity.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import { UserAccessPolicy } from '../user/user.access-policy.js';
import type { User } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import { toLoginView } from './login.dto.js';
import type { EnrolledLoginView, LoginView } from './login.dto.js';

/** A user who has proven their password, and the client that signs them in. */
interface FirstStep {
  readonly user: User;
  readonly client: Client;
}

/**
 * The second step of a sign-in with a password. The token of a challenge stands for the first step, for one attempt within
 * ten minutes: it proves a factor, or enrols the first one where a role requires that, and can do nothing else.
 */
@Injectable()
export class SecondStep {
  constructor(
    private readonly factors: SecondFactorService,
    private readonly rows: SecondFactorRepository,
    private readonly challenges: Challenges,
    private readonly users: UserRepository,
    private readonly tenants: TenantRepository,
    private readonly clients: ClientRepository,
    private readonly policy: UserAccessPolicy,
    private readonly sessions: LoginSessionService,
    private readonly audit: AuditLog,
  ) {}

  /** Throws SecondStepError, with the challenge, where the password alone does not sign the user in. */
  async requireNone(user: User, { clientId }: Client, state: FactorState): Promise<void> {
    if (state.kinds.length > 0) {
      const challenge = challengeFor(user, 'proof', clientId);
      const step = await this.factors.ask(challenge, state);
      throw new SecondStepError('SECOND_FACTOR_REQUIRED', step);
    }
    if (!state.isRequired) return;
    const challenge = challengeFor(user, 'first-enrolment', clientId);
    const step = await this.factors.ask(challenge, state);
    throw new SecondStepError('SECOND_FACTOR_ENROLMENT_REQUIRED', step);
  }

  /** Signs the user in by a second factor. SecondStepError for a wrong one has a new challenge. */
  async signIn(
    { challenge: token, ...proof }: SecondStepDto,
    origin: SignInOrigin,
  ): Promise<LoginView> {
    const challenge = await this.take(token, 'proof');
    return inTenant(challenge.tenantId, async () => {
      const { user, client } = await this.resume(challenge);
      const secondFactor = await this.factors.prove(user, proof, origin.ip, challenge.webauthn);
      if (secondFactor !== undefined) {
        const opened = await this.sessions.open(user, client, { ...origin, secondFactor });
        return toLoginView(opened.token, client);
      }
      await this.recordFailure(user, client, origin);
      const state = await this.rows.state(user.tenantId, user.id);
      throw new SecondStepError('SECOND_FACTOR_WRONG', await this.factors.ask(challenge, state));
    });
  }

  /** Begins the enrolment of the first factor. */
  async enrol({ challenge: token, kind }: EnrolmentDto): Promise<EnrolmentView> {
    const challenge = await this.take(token, 'first-enrolment');
    return inTenant(challenge.tenantId, async () => {
      const { user } = await this.resume(challenge);
      return this.factors.enrol(user, challenge, kind);
    });
  }

  /** Adds the first factor and signs the user in. */
  async confirm(
    { challenge: token, ...confirmation }: ConfirmationDto,
    origin: SignInOrigin,
  ): Promise<EnrolledLoginView> {
    const challenge = await this.take(token, 'first-enrolment');
    return inTenant(challenge.tenantId, async () => {
      const { user, client } = await this.resume(challenge);
      // A factor that was added meanwhile must be proven instead.
      const { kinds } = await this.rows.state(user.tenantId, user.id);
      if (kinds.length > 0) throw new StepExpiredError();
      const { tenantId, id: userId, userName } = user;
      const actor = { tenantId, userId, userName };
      const recoveryCodes = (await this.factors.confirm(actor, challenge, confirmation)) ?? [];
      const opened = await this.sessions.open(user, client, {
        ...origin,
        secondFactor: 'enrolled',
      });
      return { ...toLoginView(opened.token, client), recoveryCodes };
    });
  }

  private async take(token: string, purpose: Challenge['purpose']): Promise<Challenge> {
    const challenge = await this.challenges.take(token, purpose);
    if (!challenge) throw new StepExpiredError();
    return challenge;
  }

  /** What the first step has checked, as of now. Throws StepExpiredError if it would be refused now. */
  private async resume({ tenantId, userId, account, boundTo }: Challenge): Promise<FirstStep> {
    const user = await this.users.users.findOne(tenantId, { id: userId, status: '0' });
    const client = await this.clients.byClientId(boundTo);
    const tenant = await this.tenants.byTenantId(tenantId);
    const isSame =
      user !== null &&
      accountOf(tenantId, user, user.userName) === account &&
      client?.status === '0' &&
      tenant !== null &&
      tenantProblem(tenant, new Date()) === undefined &&
      (await this.policy.mayUsePassword(tenant, user));
    if (!isSame) throw new StepExpiredError();
    return { user, client };
  }

  private async recordFailure(
    { tenantId, userName }: User,
    { clientKey }: Client,
    { userAgent }: SignInOrigin,
  ): Promise<void> {
    const detail = { clientKey, reason: 'second-factor', ...clientSoftware(userAgent) };
    await this.audit.record(
      { tenantId, userName },
      { action: 'login-failed', target: 'user', detail },
    );
  }
}
