import { Inject, Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { inHomeTenant } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import type { AuditActor } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant, SealedColumns } from '../../platform/database/index.js';
import type { SealedColumn } from '../../platform/database/index.js';
import { ConflictError, InvalidInputError } from '../../platform/error/index.js';
import { currentRequest } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { attemptAt, Passwords } from '../password/passwords.js';
import { ProfileService } from '../user/profile.service.js';
import { requireNotSelf, UserAccessPolicy } from '../user/user.access-policy.js';
import type { User } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import { challengeFor, Challenges, secondsLeft } from './challenges.js';
import type { Challenge } from './challenges.js';
import { SecondFactorView } from './second-factor.dto.js';
import type {
  ConfirmationDto,
  ConfirmedIdentityDto,
  EnrolmentView,
  OwnEnrolmentDto,
  ProofKind,
  RemovedFactorDto,
  SecondFactorsView,
  SecondStepDto,
  SecondStepView,
} from './second-factor.dto.js';
import type { FactorKind, SecondFactor } from './second-factor.entity.js';
import { StepExpiredError, WrongConfirmationError } from './second-factor.errors.js';
import { SecondFactorRepository } from './second-factor.repository.js';
import type { FactorState } from './second-factor.repository.js';
import { enrolmentAddress, randomSecret, stepOf } from './totp.js';
import {
  assertedCounter,
  authenticationOptions,
  registeredCredential,
  registrationOptions,
  siteAt,
} from './webauthn.js';
import type { WebAuthnSite } from './webauthn.js';

const MAX_FACTORS = 10;
const RECOVERY_CODE_COUNT = 10;
/** 80 random bits: 16 characters in base32. */
const RECOVERY_CODE_BYTES = 10;
const APP_CODE = /^\d{6}$/;
const DEFAULT_NAMES: Readonly<Record<FactorKind, string>> = {
  totp: 'Authenticator app',
  webauthn: 'Security key',
};

type Proof = Pick<SecondStepDto, 'code' | 'credential'>;

/** The second factors of users with passwords: enrolment, proof, recovery codes and removal. */
@Injectable()
export class SecondFactorService {
  /** The secrets of authenticator apps. */
  private readonly secrets: SealedColumn;

  constructor(
    private readonly rows: SecondFactorRepository,
    sealed: SealedColumns,
    private readonly challenges: Challenges,
    private readonly users: UserRepository,
    private readonly profiles: ProfileService,
    private readonly passwords: Passwords,
    private readonly policy: UserAccessPolicy,
    private readonly sessions: LoginSessionRepository,
    private readonly change: AccessChange,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.secrets = sealed.add('second_factor', 'secret', { owner: 'user_id' });
  }

  // The second step of a sign-in

  /** Stores the challenge and returns what the client needs for the step. */
  async ask(challenge: Challenge, state: FactorState): Promise<Omit<SecondStepView, 'errorCode'>> {
    const { tenantId, userId, purpose } = challenge;
    const site = this.site();
    const isProof = purpose === 'proof';
    const options =
      isProof && site && state.kinds.includes('webauthn')
        ? await authenticationOptions(site, await this.rows.of(tenantId, userId))
        : null;
    const proofs: ProofKind[] = state.kinds.filter((kind) => kind !== 'webauthn' || options);
    if (state.recoveryCodes > 0) proofs.push('recovery');
    return {
      challenge: await this.challenges.keep({ ...challenge, webauthn: options?.challenge }),
      expiresIn: secondsLeft(challenge),
      kinds: isProof ? proofs : this.enrollableKinds(),
      webauthn: options,
    };
  }

  /**
   * What has proven the user: undefined for a wrong proof, which counts towards the lock of the account. Each code is
   * accepted once. Throws LoginRefusedError while the account is locked.
   */
  async prove(
    user: User,
    { code, credential }: Proof,
    ip: string | undefined,
    webauthn?: string,
  ): Promise<ProofKind | undefined> {
    let proven: ProofKind | undefined;
    await this.passwords.count(attemptAt(user, ip), async () => {
      if (credential) proven = await this.byCredential(user, credential, webauthn);
      else if (code) proven = await this.byCode(user, code.replaceAll(/[\s-]/g, '').toLowerCase());
      return proven !== undefined;
    });
    return proven;
  }

  /** Begins an enrolment: returns what an app or the browser needs. Nothing acts before the confirmation. */
  async enrol(user: User, challenge: Challenge, kind: FactorKind): Promise<EnrolmentView> {
    const { tenantId, id: userId, userName } = user;
    const expiresIn = secondsLeft(challenge);
    if (kind === 'totp') {
      const secret = randomSecret();
      const token = await this.challenges.keep({
        ...challenge,
        secret: this.secrets.seal(tenantId, userId, secret),
        webauthn: undefined,
      });
      const address = enrolmentAddress(secret, userName);
      return { challenge: token, expiresIn, kind, secret, address, webauthn: null };
    }
    const site = this.site();
    if (!site) {
      throw new InvalidInputError(
        msg`Browsers use security keys only at an address with https and a domain. Use an authenticator app instead.`,
      );
    }
    const options = await registrationOptions(site, user, await this.rows.of(tenantId, userId));
    const token = await this.challenges.keep({
      ...challenge,
      secret: undefined,
      webauthn: options.challenge,
    });
    return { challenge: token, expiresIn, kind, secret: null, address: null, webauthn: options };
  }

  /**
   * Adds the factor of an enrolment, confirmed by a first code or the browser's answer. Returns the recovery codes if the
   * user had none; WrongConfirmationError for a wrong code.
   */
  async confirm(
    actor: AuditActor,
    challenge: Challenge,
    { name, ...proof }: Omit<ConfirmationDto, 'challenge'>,
  ): Promise<string[] | null> {
    const { tenantId, userId } = challenge;
    const confirmed = await this.confirmedFactor(challenge, proof);
    if (!confirmed) {
      // The same app can try again; the browser has to sign another challenge.
      const canRetry = challenge.secret !== undefined;
      throw new WrongConfirmationError(canRetry ? await this.challenges.keep(challenge) : null);
    }
    const { kind } = confirmed;
    return this.change.apply(
      actor,
      async () => {
        const existing = await this.rows.of(tenantId, userId);
        if (existing.length >= MAX_FACTORS) {
          throw new ConflictError(
            msg`You have ${MAX_FACTORS} second factors, which is the limit. Remove one first.`,
          );
        }
        const label = name?.trim() || DEFAULT_NAMES[kind];
        await this.rows.factors.insert(tenantId, { ...confirmed, userId, name: label });
        const { recoveryCodes } = await this.rows.state(tenantId, userId);
        return recoveryCodes === 0 ? this.newRecoveryCodes(tenantId, userId) : null;
      },
      () => [entryOf(userId, { secondFactor: 'added', kind })],
    );
  }

  // The user's own account

  async list({ homeTenantId: tenantId, userId }: Caller): Promise<SecondFactorsView> {
    return inTenant(tenantId, async () => {
      const { recoveryCodes, isRequired } = await this.rows.state(tenantId, userId);
      const factors = await this.rows.of(tenantId, userId);
      return {
        factors: factors.map((factor) => SecondFactorView.of(factor)),
        recoveryCodes,
        required: isRequired,
        kinds: this.enrollableKinds(),
      };
    });
  }

  async enrolOwn(
    caller: Caller,
    { kind, ...identity }: OwnEnrolmentDto,
    ip: string | undefined,
  ): Promise<EnrolmentView> {
    const user = await this.confirmedUser(caller, identity, ip);
    const challenge = challengeFor(user, 'enrolment', caller.loginSessionId);
    return inTenant(user.tenantId, () => this.enrol(user, challenge, kind));
  }

  async confirmOwn(caller: Caller, input: ConfirmationDto): Promise<string[] | null> {
    const challenge = await this.challenges.take(input.challenge, 'enrolment');
    if (challenge?.boundTo !== caller.loginSessionId) throw new StepExpiredError();
    return inTenant(challenge.tenantId, () => this.confirm(inHomeTenant(caller), challenge, input));
  }

  /** Removes a factor of the caller, and with the last one the recovery codes. ConflictError if a role requires that one. */
  async removeOwn(
    caller: Caller,
    { id, ...identity }: RemovedFactorDto,
    ip: string | undefined,
  ): Promise<void> {
    const { tenantId, id: userId } = await this.confirmedUser(caller, identity, ip);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const factor = await this.rows.factors.get(tenantId, id, { userId });
        const { isRequired } = await this.rows.state(tenantId, userId);
        const isLast = (await this.rows.of(tenantId, userId)).length === 1;
        if (isLast && isRequired) {
          throw new ConflictError(
            msg`Your role requires a second factor. Add another one before you remove this.`,
          );
        }
        await this.rows.factors.remove(tenantId, [id]);
        if (isLast) await this.rows.replaceRecoveryCodes(tenantId, userId, []);
        return factor;
      },
      ({ kind }) => [entryOf(userId, { secondFactor: 'removed', kind })],
    );
  }

  /** New recovery codes, which replace the others. */
  async renewRecoveryCodes(
    caller: Caller,
    identity: ConfirmedIdentityDto,
    ip: string | undefined,
  ): Promise<string[]> {
    const { tenantId, id: userId } = await this.confirmedUser(caller, identity, ip);
    return this.change.apply(
      inHomeTenant(caller),
      async () => {
        if ((await this.rows.of(tenantId, userId)).length === 0) {
          throw new ConflictError(msg`You have no second factor. Add one first.`);
        }
        return this.newRecoveryCodes(tenantId, userId);
      },
      () => [entryOf(userId, { secondFactor: 'recovery-codes' })],
    );
  }

  // Administration

  /** Removes all second factors of another user, with their recovery codes, and ends their sign-ins. */
  async removeAll(caller: Caller, userId: number): Promise<void> {
    const { tenantId } = caller;
    requireNotSelf(caller, [userId], msg`remove the second factor of`);
    await this.change.apply(
      caller,
      async () => {
        await this.policy.manageableOne(caller, userId);
        const factors = await this.rows.of(tenantId, userId);
        await this.rows.factors.remove(
          tenantId,
          factors.map(({ id }) => id),
        );
        await this.rows.replaceRecoveryCodes(tenantId, userId, []);
        await this.sessions.endAllOf(tenantId, userId);
        return factors;
      },
      (factors) => [
        entryOf(userId, { secondFactor: 'removed', kinds: factors.map(({ kind }) => kind) }),
      ],
    );
  }

  /** Like `removeAll`, by the name of the user, who exists. */
  async removeAllOf(caller: Caller, userName: string): Promise<void> {
    const user = await this.users.byName(caller.tenantId, userName);
    if (user) await this.removeAll(caller, user.id);
  }

  /** The caller as a user, after they have proven again who they are. */
  private async confirmedUser(
    caller: Caller,
    { password, code }: ConfirmedIdentityDto,
    ip: string | undefined,
  ): Promise<User> {
    const { homeTenantId: tenantId, userId } = caller;
    const user = await inTenant(tenantId, () => this.users.users.get(tenantId, userId));
    if (password) await this.profiles.requirePassword(caller, password, ip);
    else if (!code) {
      throw new InvalidInputError(msg`Enter your password or a code of your second factor.`);
    } else if (!(await inTenant(tenantId, () => this.prove(user, { code }, ip)))) {
      throw new InvalidInputError(msg`The code is wrong or was used already. Enter a new one.`);
    }
    return user;
  }

  private async byCode(
    { tenantId, id: userId }: User,
    code: string,
  ): Promise<ProofKind | undefined> {
    if (!APP_CODE.test(code)) {
      const digest = digestOf(tenantId, userId, code);
      const isRight = await this.rows.useRecoveryCode(tenantId, userId, digest);
      return isRight ? 'recovery' : undefined;
    }
    for (const { id, secret } of await this.rows.of(tenantId, userId)) {
      const plain = secret && this.secrets.open(tenantId, userId, secret);
      const step = plain ? stepOf(plain, code) : undefined;
      if (step !== undefined && (await this.rows.use(tenantId, id, step))) return 'totp';
    }
    return undefined;
  }

  private async byCredential(
    { tenantId, id: userId }: User,
    credential: Readonly<Record<string, unknown>>,
    challenge: string | undefined,
  ): Promise<ProofKind | undefined> {
    const site = this.site();
    const factors = await this.rows.of(tenantId, userId);
    const factor = factors.find(({ credentialId }) => credentialId === credential['id']);
    if (!site || !factor || challenge === undefined) return undefined;
    const counter = await assertedCounter(site, challenge, factor, credential);
    if (counter === undefined || !(await this.rows.use(tenantId, factor.id, counter))) {
      return undefined;
    }
    return 'webauthn';
  }

  /** The columns of the factor that the challenge has begun; undefined for a wrong code or answer. */
  private async confirmedFactor(
    { tenantId, userId, secret, webauthn }: Challenge,
    { code, credential }: Proof,
  ): Promise<(Partial<SecondFactor> & Pick<SecondFactor, 'kind'>) | undefined> {
    if (secret !== undefined) {
      const plain = this.secrets.open(tenantId, userId, secret) ?? '';
      const counter = stepOf(plain, code?.replaceAll(/\s/g, '') ?? '');
      if (counter === undefined) return undefined;
      // Encrypted again, because the key may have changed since the enrolment began.
      return { kind: 'totp', secret: this.secrets.seal(tenantId, userId, plain), counter };
    }
    const site = this.site();
    if (!site || webauthn === undefined || !credential) return undefined;
    const columns = await registeredCredential(site, webauthn, credential);
    return columns && { kind: 'webauthn', ...columns };
  }

  private async newRecoveryCodes(tenantId: string, userId: number): Promise<string[]> {
    const codes = Array.from({ length: RECOVERY_CODE_COUNT }, () =>
      randomSecret(RECOVERY_CODE_BYTES).toLowerCase(),
    );
    await this.rows.replaceRecoveryCodes(
      tenantId,
      userId,
      codes.map((code) => digestOf(tenantId, userId, code)),
    );
    return codes.map((code) => code.replaceAll(/(....)(?=.)/g, '$1-'));
  }

  private enrollableKinds(): FactorKind[] {
    return this.site() ? ['totp', 'webauthn'] : ['totp'];
  }

  private site(): WebAuthnSite | undefined {
    const base = this.config.PUBLIC_URL ?? currentRequest()?.baseAddress;
    return base === undefined ? undefined : siteAt(base);
  }
}

/** The code has 80 random bits, so that its digest needs no salt. */
function digestOf(tenantId: string, userId: number, code: string): string {
  return hash('sha256', `${tenantId}:${userId}:${code}`, 'hex');
}

function entryOf(id: number, detail: Readonly<Record<string, unknown>>) {
  return { action: 'update', target: 'user', id, detail } as const;
}
