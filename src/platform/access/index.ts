export {
  ACCESS_RULE,
  CurrentCaller,
  LoginOnly,
  OptionalCaller,
  Public,
  RequirePermission,
} from './access.decorators.js';
export type { AccessRule } from './access.decorators.js';
export { ApiKeyCallers } from './api-key.callers.js';
export type { RequestOrigin } from './api-key.callers.js';
export { API_KEY_PREFIX, apiKeyDigest, newApiKey, newKeyId, readApiKey } from './api-key.token.js';
export type { ReadApiKey } from './api-key.token.js';
export { AccessModule } from './access.module.js';
export {
  idsOfKey,
  inHomeTenant,
  isSuperAdmin,
  isWithinKey,
  mayAny,
  NOTHING_INLINE,
  requireSuperAdmin,
  requireUnlimitedKey,
  requireWithinKey,
  isOffered,
  systemCaller,
} from './caller.js';
export type { Caller, CallerKey, InlineContent, LimitedRecords } from './caller.js';
export { CallerResolver } from './caller.resolver.js';
export { Direct, DirectRoutes } from './direct-routes.js';
export { API_SURFACES, ORIGINS } from './api-surface.js';
export type { ApiSurface, Origin } from './api-surface.js';
export { signToken } from './login-token.js';
export type { TokenClaims } from './login-token.js';
export { OpenStreams } from './open-streams.js';
export type { StreamPlace } from './open-streams.js';
export type { StreamEnd } from './open-streams.js';
export type { PermissionInfo } from './permission.catalogue.js';
export {
  ALL_PERMISSIONS,
  isAssignable,
  isKeyPermission,
  isKnownPermission,
  keyPermissionCatalogue,
  permissionCatalogue,
  permissionsOf,
  tenantAdminPermissions,
  userPermissions,
} from './permission.catalogue.js';
export { TenantLifecycle } from './tenant-lifecycle.js';
export type { TenantParticipant } from './tenant-lifecycle.js';
export { UserLifecycle } from './user-lifecycle.js';
export { TenantRevision } from './tenant-revision.repository.js';
