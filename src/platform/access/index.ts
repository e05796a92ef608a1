export {
  ACCESS_RULE,
  CurrentCaller,
  LoginOnly,
  OptionalCaller,
  Public,
  RequirePermission,
} from './access.decorators.js';
export type { AccessRule } from './access.decorators.js';
export { AccessModule } from './access.module.js';
export {
  inHomeTenant,
  isSuperAdmin,
  mayAny,
  NOTHING_INLINE,
  requireSuperAdmin,
  systemCaller,
} from './caller.js';
export type { Caller, InlineContent } from './caller.js';
export { CallerResolver } from './caller.resolver.js';
export { signToken } from './login-token.js';
export type { TokenClaims } from './login-token.js';
export { OpenStreams } from './open-streams.js';
export type { StreamPlace } from './open-streams.js';
export type { StreamEnd } from './open-streams.js';
export {
  ALL_PERMISSIONS,
  isAssignable,
  isKnownPermission,
  permissionCatalogue,
  permissionsOf,
  tenantAdminPermissions,
  userPermissions,
} from './permission.catalogue.js';
export { TenantLifecycle } from './tenant-lifecycle.js';
export type { TenantParticipant } from './tenant-lifecycle.js';
export { UserLifecycle } from './user-lifecycle.js';
export { TenantRevision } from './tenant-revision.repository.js';
