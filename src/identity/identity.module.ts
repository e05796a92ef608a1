import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CallerResolver } from '../platform/access/index.js';
import { Client } from './client/client.entity.js';
import { Role, UserRole } from './role/role.entity.js';
import { LoginSession } from './sign-in/login-session.entity.js';
import { Tenant } from './tenant/tenant.entity.js';
import { User } from './user/user.entity.js';
import { AccessChange } from './access.change.js';
import { ClientController } from './client/client.controller.js';
import { ClientRepository } from './client/client.repository.js';
import { ClientService } from './client/client.service.js';
import { IdentitySeed } from './identity.seed.js';
import { InitialPassword } from './initial.password.js';
import { Captcha } from './login/captcha.js';
import { CaptchaStore } from './login/captcha.store.js';
import { LoginController } from './login/login.controller.js';
import { LoginService } from './login/login.service.js';
import { PasswordLogin } from './login/password.login.js';
import { Registration } from './login/registration.js';
import { TenantChoices } from './login/tenant.choices.js';
import { MenuController } from './menu/menu.controller.js';
import { NoticeChannel } from './notice/notice.channel.js';
import { NoticeController } from './notice/notice.controller.js';
import { PasswordHasher } from './password/password.hasher.js';
import { Passwords } from './password/passwords.js';
import { RoleController } from './role/role.controller.js';
import { RoleMembers } from './role/role.members.js';
import { RoleRepository } from './role/role.repository.js';
import { RoleService } from './role/role.service.js';
import { LoginSessionRepository } from './sign-in/login-session.repository.js';
import { SessionCallerResolver } from './sign-in/session.caller-resolver.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { SignInList } from './sign-in/sign-in.list.js';
import { SignInService } from './sign-in/sign-in.service.js';
import { SignInSweep } from './sign-in/sign-in.sweep.js';
import { TenantController } from './tenant/tenant.controller.js';
import { TenantFounder } from './tenant/tenant.founder.js';
import { TenantRepository } from './tenant/tenant.repository.js';
import { TenantService } from './tenant/tenant.service.js';
import { TenantSwitch } from './tenant/tenant.switch.js';
import { ProfileController } from './user/profile.controller.js';
import { UserAccounts } from './user/user.accounts.js';
import { UserController } from './user/user.controller.js';
import { UserCallers } from './user/user.callers.js';
import { UserDirectory } from './user/user.directory.js';
import { UserGrants } from './user/user.grants.js';
import { UserPasswords } from './user/user.passwords.js';
import { UserProfile } from './user/user.profile.js';
import { UserReach } from './user/user.reach.js';
import { UserRepository } from './user/user.repository.js';
import { UserService } from './user/user.service.js';
import { UserStanding } from './user/user.standing.js';

/** Who there is and who may do what. Global, because access/ asks it for the caller of every request. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([Client, LoginSession, Role, Tenant, User, UserRole])],
  controllers: [
    LoginController,
    // Before the users: its paths would be taken for ids of theirs.
    ProfileController,
    UserController,
    RoleController,
    TenantController,
    ClientController,
    SignInController,
    MenuController,
    NoticeController,
  ],
  providers: [
    AccessChange,
    IdentitySeed,
    InitialPassword,
    Passwords,
    PasswordHasher,
    // Records
    ClientRepository,
    ClientService,
    RoleMembers,
    RoleRepository,
    RoleService,
    TenantFounder,
    TenantRepository,
    TenantService,
    TenantSwitch,
    UserAccounts,
    UserCallers,
    UserDirectory,
    UserGrants,
    UserPasswords,
    UserProfile,
    UserReach,
    UserRepository,
    UserService,
    UserStanding,
    // Sign-in
    Captcha,
    CaptchaStore,
    LoginService,
    LoginSessionRepository,
    PasswordLogin,
    NoticeChannel,
    Registration,
    SignInList,
    SignInService,
    SignInSweep,
    TenantChoices,
    SessionCallerResolver,
    { provide: CallerResolver, useExisting: SessionCallerResolver },
  ],
  exports: [CallerResolver, InitialPassword, UserCallers],
})
export class IdentityModule {}
