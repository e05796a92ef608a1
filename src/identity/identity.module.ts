import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { CallerResolver } from '../platform/access/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { AccessChange } from './access/access.change.js';
import { Client } from './client/client.entity.js';
import { Role, UserRole } from './role/role.entity.js';
import { LoginSession } from './login-session/login-session.entity.js';
import { Tenant } from './tenant/tenant.entity.js';
import { User } from './user/user.entity.js';
import { ClientController } from './client/client.controller.js';
import { ClientRepository } from './client/client.repository.js';
import { ClientService } from './client/client.service.js';
import { GroupChild, GroupMember, GroupMembership, UserGroup } from './group/group.entity.js';
import { GroupController } from './group/group.controller.js';
import { GroupRepository } from './group/group.repository.js';
import { GroupService } from './group/group.service.js';
import { IdentitySeed } from './identity.seed.js';
import { LoginSessionRepository } from './login-session/login-session.repository.js';
import { LoginSessionService } from './login-session/login-session.service.js';
import { Passwords } from './password/passwords.js';
import { RoleController } from './role/role.controller.js';
import { RoleRepository } from './role/role.repository.js';
import { RoleService } from './role/role.service.js';
import { Captcha, CaptchaStore } from './sign-in/captcha.js';
import { AuthController } from './sign-in/auth.controller.js';
import { LoginService } from './sign-in/login.service.js';
import { SessionCallerResolver, UserCallers } from './user/callers.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { SignInService } from './sign-in/sign-in.service.js';
import { Challenges } from './second-factor/challenges.js';
import {
  SecondFactorController,
  SecondFactorUserController,
} from './second-factor/second-factor.controller.js';
import { RecoveryCode, SecondFactor } from './second-factor/second-factor.entity.js';
import { SecondFactorRepository } from './second-factor/second-factor.repository.js';
import { SecondFactorService } from './second-factor/second-factor.service.js';
import { SecondStep } from './sign-in/second-step.service.js';
import { ScimAddress } from './scim/scim.address.js';
import { ScimController } from './scim/scim.controller.js';
import { ProvisionedUser } from './scim/scim.entity.js';
import { ScimGroups } from './scim/scim.groups.js';
import { ScimRepository } from './scim/scim.repository.js';
import { ScimUsers } from './scim/scim.users.js';
import { OidcConnections } from './sso/oidc.connections.js';
import { SsoAuthController } from './sso/sso-auth.controller.js';
import { SsoChecks } from './sso/sso.checks.js';
import { SsoController } from './sso/sso.controller.js';
import { SsoDiagnosis } from './sso/sso.diagnosis.js';
import { SsoDisconnect } from './sso/sso.disconnect.js';
import { SsoIdentity, SsoProvider, SsoSession } from './sso/sso.entity.js';
import { SsoFlows } from './sso/sso.flows.js';
import { SsoGroups } from './sso/sso.groups.js';
import { SsoLogout } from './sso/sso.logout.js';
import { SsoRepository } from './sso/sso.repository.js';
import { SsoService } from './sso/sso.service.js';
import { SsoSignIn } from './sso/sso.sign-in.js';
import { SsoUserController } from './sso/sso-user.controller.js';
import { SsoUsers } from './sso/sso.users.js';
import { SsoVault } from './sso/sso.vault.js';
import { TenantController } from './tenant/tenant.controller.js';
import { TenantRepository } from './tenant/tenant.repository.js';
import { TenantService } from './tenant/tenant.service.js';
import { Avatars } from './user/avatars.js';
import { ProfileController } from './user/profile.controller.js';
import { ProfileService } from './user/profile.service.js';
import { RoleMemberController } from './user/role-member.controller.js';
import { UserAccessPolicy } from './user/user.access-policy.js';
import { UserController } from './user/user.controller.js';
import { UserImport } from './user/user.import.js';
import { UserRepository } from './user/user.repository.js';
import { UserService } from './user/user.service.js';

/** Users, roles, tenants, clients and sign-ins. Global, because platform/access resolves the caller of every request here. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forFeature([
      Client,
      GroupChild,
      GroupMember,
      GroupMembership,
      LoginSession,
      ProvisionedUser,
      RecoveryCode,
      Role,
      SecondFactor,
      SsoIdentity,
      SsoProvider,
      SsoSession,
      Tenant,
      User,
      UserGroup,
      UserRole,
    ]),
    StorageModule,
  ],
  controllers: [
    AuthController,
    // ProfileController comes before the users, whose route `:userId` would match its paths.
    ProfileController,
    SecondFactorController,
    SecondFactorUserController,
    UserController,
    RoleMemberController,
    RoleController,
    GroupController,
    TenantController,
    ClientController,
    SignInController,
    SsoAuthController,
    SsoController,
    SsoUserController,
    ScimController,
  ],
  providers: [
    AccessChange,
    Avatars,
    IdentitySeed,
    Passwords,
    ClientRepository,
    ClientService,
    GroupRepository,
    GroupService,
    LoginSessionRepository,
    LoginSessionService,
    RoleRepository,
    RoleService,
    ProfileService,
    UserAccessPolicy,
    UserCallers,
    UserImport,
    UserRepository,
    UserService,
    TenantRepository,
    TenantService,
    Captcha,
    CaptchaStore,
    Challenges,
    SecondFactorRepository,
    SecondFactorService,
    SecondStep,
    LoginService,
    SignInService,
    OidcConnections,
    SsoChecks,
    SsoDiagnosis,
    SsoDisconnect,
    SsoFlows,
    SsoGroups,
    SsoLogout,
    SsoRepository,
    SsoService,
    SsoSignIn,
    SsoUsers,
    SsoVault,
    ScimAddress,
    ScimGroups,
    ScimRepository,
    ScimUsers,
    SessionCallerResolver,
    { provide: CallerResolver, useExisting: SessionCallerResolver },
  ],
  exports: [
    AccessChange,
    CallerResolver,
    RoleService,
    SecondFactorService,
    UserAccessPolicy,
    UserCallers,
    UserService,
  ],
})
export class IdentityModule {
  constructor(names: AuditNames) {
    names.join('user', User, 'userName');
    names.join('role', Role, 'roleName');
    names.join('user_group', UserGroup, 'displayName');
    names.join('provisioned_group', UserGroup, 'displayName');
    names.join('sso_provider', SsoProvider, 'name');
  }
}
