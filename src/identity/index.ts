import { Client } from './client/client.entity.js';
import { Role, UserRole } from './role/role.entity.js';
import { LoginSession } from './login-session/login-session.entity.js';
import { Tenant } from './tenant/tenant.entity.js';
import { User } from './user/user.entity.js';

export { IdentityModule } from './identity.module.js';
export { InitialPassword } from './initial.password.js';
export type { InitialLogin } from './initial.password.js';
export { UserCallers } from './user/user.callers.js';
export type { UserInTenant } from './user/user.callers.js';

export const identityEntities = [Client, LoginSession, Role, Tenant, User, UserRole];
