export { AccessChange, requireHeld } from './access/access.change.js';
export { IdentityModule } from './identity.module.js';
export { IdentitySeed } from './identity.seed.js';
export type { InitialLogin } from './identity.seed.js';
export { UserAccessPolicy } from './user/user.access-policy.js';
export { SERVICE_ACCOUNT } from './user/user.entity.js';
export { UserCallers } from './user/user.callers.js';
export type { UserInTenant } from './user/user.callers.js';
