export { IdentityModule } from './identity.module.js';
export { InitialPassword } from './initial.password.js';
export type { InitialLogin } from './initial.password.js';
export { UserCallers } from './user/user.callers.js';
export type { UserInTenant } from './user/user.callers.js';
