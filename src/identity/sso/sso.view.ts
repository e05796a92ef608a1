import {
  flag,
  integer,
  list,
  nullable,
  number,
  oneOf,
  recordRevision,
  text,
  time,
  View,
} from '../../platform/http/index.js';
import type { SsoProvider } from './sso.entity.js';

export class RoleMappingView extends View({
  value: text({ example: 'engineering' }),
  roleId: integer({ example: 1 }),
}) {}

/** A provider without its secret. */
export class SsoProviderView extends View({
  id: number({ example: 1 }),
  revision: recordRevision(),
  name: text({ example: 'Company account' }),
  issuer: text({ example: 'https://login.example.com/realms/company' }),
  clientId: text({ example: 'plinth' }),
  hasSecret: flag(),
  scopes: text({ example: 'openid profile email' }),
  groupsClaim: nullable(text({ example: 'groups' })),
  roleMapping: list(RoleMappingView),
  allowCreate: flag(),
  provisioned: flag({ description: 'Whether its users and groups come by SCIM' }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  redirectUri: text({ description: 'To be registered at the provider' }),
  backchannelLogoutUri: text({ description: 'The same, for back-channel logout' }),
  createTime: time(),
}) {}

/** The addresses that a provider will have, before it is created. */
export class SsoDraftView extends View({
  draft: text({
    description: 'To be sent when the provider is created, which then has these addresses',
  }),
  redirectUri: text({ description: 'To be registered at the provider' }),
  backchannelLogoutUri: text({ description: 'The same, for back-channel logout' }),
}) {}

export class BreakGlassUserView extends View({
  userId: integer({ example: 1 }),
  userName: text({ example: 'admin' }),
}) {}

export class SsoSettingsView extends View({
  passwordLogin: flag({ description: 'Whether users of the tenant sign in with passwords' }),
  breakGlassUsers: list(BreakGlassUserView, {
    description: 'Users who can always sign in with their password',
  }),
  scimAddress: text({ description: 'The base address for a directory that provisions users' }),
}) {}

export class SsoChoiceView extends View({
  id: text({ example: '018f6a2e-0000-7000-8000-000000000000' }),
  name: text({ example: 'Company account' }),
}) {}

export class SsoChoicesView extends View({
  passwordLogin: flag({ description: 'False: only break-glass users sign in with a password' }),
  providers: list(SsoChoiceView),
}) {}

export class SsoConnectionView extends View({
  id: text({ example: '018f6a2e-0000-7000-8000-000000000000' }),
  name: text({ example: 'Company account' }),
  connected: flag({ description: 'Whether the user signs in with it' }),
}) {}

export class SsoAddressView extends View({
  address: text({ description: 'Of the provider, to be opened in the same browser' }),
}) {}

export class SsoLogoutView extends View({
  address: nullable(
    text({ description: 'Ends the session at the provider as well; null where there is none' }),
  ),
}) {}

/** A refused logout token, by OpenID Connect Back-Channel Logout 1.0, 2.8. */
export class LogoutFailureView extends View({
  error: text({ example: 'invalid_request' }),
  error_description: text({ example: 'The logout token is not valid.' }),
}) {}

export const SSO_STEPS = ['address', 'discovery', 'endpoints', 'keys', 'client', 'groups'] as const;
export type SsoStep = (typeof SSO_STEPS)[number];

export class SsoStepView extends View({
  step: oneOf<SsoStep>(SSO_STEPS),
  ok: flag(),
  ms: integer({ description: 'Milliseconds it took' }),
  detail: text({ example: 'The provider has 2 keys.' }),
}) {}

/** The result of a provider's test. The first failed step is the last one. */
export class SsoDiagnosisView extends View({
  ok: flag(),
  redirectUri: text({ description: 'Must be registered at the provider' }),
  steps: list(SsoStepView),
  advice: text({ description: 'What to do next' }),
}) {}

export interface ProviderAddresses {
  readonly redirectUri: string;
  readonly backchannelLogoutUri: string;
}

export function addressesOf(base: string, publicId: string): ProviderAddresses {
  return {
    redirectUri: `${base}/auth/sso/${publicId}/callback`,
    backchannelLogoutUri: `${base}/auth/sso/${publicId}/backchannel-logout`,
  };
}

export function toSsoProviderView(provider: SsoProvider, base: string): SsoProviderView {
  return SsoProviderView.of(
    { ...provider, status: provider.status as '0' },
    {
      ...addressesOf(base, provider.publicId),
      hasSecret: provider.clientSecret !== null,
    },
  );
}
