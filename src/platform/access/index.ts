export {
  ACCESS_RULE,
  API_KEY_PREFIX,
  API_SURFACES,
  ApiKeyCallers,
  apiKeyDigest,
  CallerResolver,
  CurrentCaller,
  groupIdsOf,
  idsOfKey,
  inHomeTenant,
  isOffered,
  isSuperAdmin,
  isWithinKey,
  LoginOnly,
  MAX_TAG_CHARS,
  mayAny,
  newApiKey,
  newKeyId,
  NOTHING_INLINE,
  OptionalCaller,
  ORIGINS,
  Public,
  readApiKey,
  readTags,
  requireAccess,
  RequirePermission,
  requireSuperAdmin,
  requireUnlimitedKey,
  requireWithinKey,
  signToken,
  systemCaller,
  TAG,
  TOOL_CONSENTS,
} from './access.js';
export type {
  AccessRule,
  Caller,
  CallerKey,
  InlineContent,
  Origin,
  ReadApiKey,
  RequestOrigin,
  SignIn,
  TokenClaims,
  ToolConsent,
} from './access.js';
export { AccessModule } from './access.module.js';
export { Direct, DirectRoutes } from './direct-routes.js';
export { parametersOf, readersOf, readParameters, refuseOwnSteps } from './route-parameters.js';
export { ACCESS_LOST, OpenStreams } from './open-streams.js';
export type { StreamEnd, StreamPlace } from './open-streams.js';
export type { PermissionInfo } from './permission.catalogue.js';
export {
  ALL_PERMISSIONS,
  isAssignable,
  isKeyPermission,
  isKnownPermission,
  permissionsAt,
  keyPermissionCatalogue,
  permissionCatalogue,
  permissionsOf,
  tenantAdminPermissions,
  userPermissions,
} from './permission.catalogue.js';
export { TenantLifecycle, UserLifecycle } from './lifecycle.js';
export type { TenantParticipant } from './lifecycle.js';
export { TenantRevision } from './tenant-revision.repository.js';
