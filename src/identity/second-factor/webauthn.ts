import { isIP } from 'node:net';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { User } from '../user/user.entity.js';
import type { SecondFactor } from './second-factor.entity.js';

// Security keys and passkeys as a second factor (W3C Web Authentication). The password is the first factor, so the device
// need not verify its user, and no attestation is asked for.

/** EdDSA, ES256 and RS256 (IANA COSE Algorithms), which keys support. Named, so that the library does not probe Node for others. */
const ALGORITHMS = [-8, -7, -257];

/** The web page of this service, which credentials are bound to. */
export interface WebAuthnSite {
  readonly origin: string;
  readonly rpID: string;
}

/** Undefined where browsers refuse WebAuthn: without TLS, and at an address that is no domain. */
export function siteAt(base: string): WebAuthnSite | undefined {
  const { origin, protocol, hostname } = new URL(base);
  const isSecure = protocol === 'https:' || hostname === 'localhost';
  const isDomain = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
  return isSecure && isDomain ? { origin, rpID: hostname } : undefined;
}

export async function registrationOptions(
  { rpID }: WebAuthnSite,
  { id, tenantId, userName }: User,
  existing: readonly SecondFactor[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: 'Plinth',
    rpID,
    userName,
    userID: Buffer.from(`${tenantId}:${id}`),
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: credentialsOf(existing),
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'discouraged' },
  });
}

export async function authenticationOptions(
  { rpID }: WebAuthnSite,
  existing: readonly SecondFactor[],
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return generateAuthenticationOptions({
    rpID,
    allowCredentials: credentialsOf(existing),
    userVerification: 'discouraged',
  });
}

/** The columns of the new credential; undefined for an answer that is not valid. */
export async function registeredCredential(
  site: WebAuthnSite,
  expectedChallenge: string,
  answer: object,
): Promise<
  Pick<SecondFactor, 'credentialId' | 'publicKey' | 'transports' | 'counter'> | undefined
> {
  const { verified, registrationInfo } = await orRefused(
    verifyRegistrationResponse({
      response: answer as RegistrationResponseJSON,
      expectedChallenge,
      expectedOrigin: site.origin,
      expectedRPID: site.rpID,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  );
  if (!verified || !registrationInfo) return undefined;
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    transports,
    counter,
  };
}

/** The signature counter after an assertion by the credential; undefined for one that is not valid. */
export async function assertedCounter(
  site: WebAuthnSite,
  expectedChallenge: string,
  factor: SecondFactor,
  answer: object,
): Promise<number | undefined> {
  const { verified, authenticationInfo } = await orRefused(
    verifyAuthenticationResponse({
      response: answer as AuthenticationResponseJSON,
      expectedChallenge,
      expectedOrigin: site.origin,
      expectedRPID: site.rpID,
      credential: {
        id: factor.credentialId ?? '',
        publicKey: new Uint8Array(Buffer.from(factor.publicKey ?? '', 'base64url')),
        counter: factor.counter,
      },
      requireUserVerification: false,
    }),
  );
  return verified ? authenticationInfo?.newCounter : undefined;
}

function credentialsOf(existing: readonly SecondFactor[]) {
  return existing.flatMap(({ credentialId, transports }) =>
    credentialId === null
      ? []
      : [{ id: credentialId, transports: transports as AuthenticatorTransport[] }],
  );
}

/** The library throws for an answer of any form that does not fit: to this service it is a wrong one. */
async function orRefused<Result extends object>(
  checked: Promise<Result>,
): Promise<Partial<Result>> {
  try {
    return await checked;
  } catch {
    return {};
  }
}
