export { IdentityModule } from './identity.module.js';
export { IdentitySeed } from './identity.seed.js';
export type { InitialLogin } from './identity.seed.js';
export { UserCallers } from './user/user.callers.js';
export type { UserInTenant } from './user/user.callers.js';
