import { Injectable } from '@nestjs/common';
import { inHomeTenant } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { inTenant } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { UUID } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import { UserAccessPolicy } from '../user/user.access-policy.js';
import { toSignInView } from './sign-in.dto.js';
import type { SignInListQuery, SignInView } from './sign-in.dto.js';

/** Lists and ends the sign-ins of users. */
@Injectable()
export class SignInService {
  constructor(
    private readonly sessions: LoginSessionRepository,
    private readonly logins: LoginSessionService,
    private readonly policy: UserAccessPolicy,
  ) {}

  async ownSignIns(caller: Caller): Promise<Page<SignInView>> {
    const { homeTenantId, userId, loginSessionId } = caller;
    const page = await inTenant(homeTenantId, () =>
      this.sessions.page(homeTenantId, {}, { userId }),
    );
    return page.map((signIn) => toSignInView(signIn, loginSessionId));
  }

  async list(caller: Caller, query: SignInListQuery): Promise<Page<SignInView>> {
    const page = await this.sessions.page(caller.tenantId, query, query);
    return page.map((signIn) => toSignInView(signIn, caller.loginSessionId));
  }

  async endOwn(caller: Caller, tokenId: string): Promise<void> {
    const { homeTenantId } = caller;
    const userId = await inTenant(homeTenantId, () => this.userOf(homeTenantId, tokenId));
    if (userId !== caller.userId) throw new NotFoundError(msg`The sign-in`);
    await this.logins.end(inHomeTenant(caller), tokenId, userId);
  }

  /** Ends the sign-in of another user. Throws ForbiddenError if they have a permission that the caller lacks. */
  async endOther(caller: Caller, tokenId: string): Promise<void> {
    const userId = await this.userOf(caller.tenantId, tokenId);
    await this.policy.manageableOne(caller, userId);
    await this.logins.end(caller, tokenId, userId);
  }

  private async userOf(tenantId: string, tokenId: string): Promise<number> {
    const userId = UUID.test(tokenId) ? await this.sessions.userOf(tenantId, tokenId) : undefined;
    if (userId === undefined) throw new NotFoundError(msg`The sign-in`);
    return userId;
  }
}
