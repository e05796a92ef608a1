import { Injectable } from '@nestjs/common';
import { AuditLog } from '../../platform/audit/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { WrongPasswordError } from '../identity.errors.js';
import { Passwords } from '../password/passwords.js';
import type { User } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import type { LoginDto } from './login.dto.js';

/** The grant `password`. */
@Injectable()
export class PasswordLogin {
  constructor(
    private readonly users: UserRepository,
    private readonly passwords: Passwords,
    private readonly audit: AuditLog,
  ) {}

  /** The user; unknown and disabled users are refused in the same words and time as a wrong password. */
  async authenticate(tenantId: string, { username, password }: LoginDto): Promise<User> {
    if (!username || !password) {
      throw new InvalidInputError('username and password must be given to sign in.');
    }
    const user = await this.users.byName(tenantId, username);
    const admitted = user?.status === '0' ? user : undefined;
    const account = { tenantId, userName: username };
    if ((await this.passwords.passes(account, admitted?.passwordHash, password)) && admitted) {
      return admitted;
    }
    await this.audit.record(account, { action: 'login-failed', target: 'user' });
    throw new WrongPasswordError();
  }
}
