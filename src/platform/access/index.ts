export {
  API_SURFACES,
  ORIGINS,
  ACCESS_RULE,
  ApiKeyCallers,
  CallerResolver,
  CurrentCaller,
  idsOfKey,
  inHomeTenant,
  isOffered,
  isSuperAdmin,
  isWithinKey,
  LoginOnly,
  mayAny,
  NOTHING_INLINE,
  OptionalCaller,
  Public,
  RequirePermission,
  requireSuperAdmin,
  requireUnlimitedKey,
  requireWithinKey,
  signToken,
  systemCaller,
} from './access.js';
export type {
  Origin,
  AccessRule,
  Caller,
  CallerKey,
  InlineContent,
  RequestOrigin,
  TokenClaims,
} from './access.js';
export { API_KEY_PREFIX, apiKeyDigest, newApiKey, newKeyId, readApiKey } from './api-key.token.js';
export type { ReadApiKey } from './api-key.token.js';
export { AccessModule } from './access.module.js';
export { Direct, DirectRoutes } from './direct-routes.js';
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
