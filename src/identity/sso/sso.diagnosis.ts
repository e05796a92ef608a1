import { Injectable } from '@nestjs/common';
import * as oidc from 'openid-client';
import { z } from 'zod';
import { DomainError } from '../../platform/error/index.js';
import { localized } from '../../platform/http/index.js';
import { literal, msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { OidcConnections } from './oidc.connections.js';
import type { SsoProvider } from './sso.entity.js';
import { SsoRepository } from './sso.repository.js';
import { addressesOf } from './sso.view.js';
import type { SsoDiagnosisView, SsoStep, SsoStepView } from './sso.view.js';

const WELL_KNOWN = '/.well-known/openid-configuration';
/** Time limit of the whole test. */
const LIMIT_MS = 60_000;
const JSON_HEADERS = { accept: 'application/json' };

const serverDocument = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: z.string().optional(),
  token_endpoint: z.string().optional(),
  jwks_uri: z.string().optional(),
  end_session_endpoint: z.string().optional(),
  backchannel_logout_supported: z.boolean().optional(),
  code_challenge_methods_supported: z.array(z.string()).optional(),
});
type ServerDocument = z.output<typeof serverDocument>;

const keySet = z.looseObject({ keys: z.array(z.looseObject({})) });

/** A step has failed for a reason that the provider's administrator can act on. */
class StepError extends DomainError {
  readonly code = 400;
}

/** Tries the connection to a provider step by step, without a user, and says which part of its record is wrong. */
@Injectable()
export class SsoDiagnosis {
  constructor(
    private readonly http: OutboundHttp,
    private readonly connections: OidcConnections,
    private readonly rows: SsoRepository,
  ) {}

  async test(provider: SsoProvider, base: string): Promise<SsoDiagnosisView> {
    const { redirectUri } = addressesOf(base, provider.publicId);
    const run = new DiagnosisRun();
    const signal = AbortSignal.timeout(LIMIT_MS);
    try {
      await run.step('address', () => this.checkAddress(provider));
      const document = await run.step('discovery', () => this.readDocument(provider, signal));
      await run.step('endpoints', () => this.checkEndpoints(document));
      await run.step('keys', () => this.checkKeys(document, signal));
      await run.step('client', () => this.tryClient(provider, redirectUri));
      if (provider.groupsClaim !== null) await run.step('groups', () => this.checkGroups(provider));
      return run.result(
        redirectUri,
        msg`Everything that can be tested without a user works. Register the redirect address at the provider, then sign in once.`,
      );
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return run.result(redirectUri, error.userMessage);
    }
  }

  private checkAddress({ issuer }: SsoProvider): Step<undefined> {
    this.http.assertSecureAddress(issuer);
    return { value: undefined, detail: msg`The document is read from ${documentAddress(issuer)}.` };
  }

  private async readDocument(
    { issuer }: SsoProvider,
    signal: AbortSignal,
  ): Promise<Step<ServerDocument>> {
    const { status, body } = await this.read(documentAddress(issuer), signal);
    if (status !== 200) {
      throw new StepError(
        msg`The provider answered HTTP ${status}. Compare the issuer with its documentation: often a path such as /realms/name is missing or too much.`,
      );
    }
    const document = serverDocument.safeParse(body).data;
    if (!document) throw new StepError(msg`The answer is no document of OpenID Connect.`);
    if (URL.parse(document.issuer)?.href !== URL.parse(issuer)?.href) {
      throw new StepError(
        msg`The provider calls itself ${document.issuer.slice(0, 200)}. Enter exactly that as the issuer.`,
      );
    }
    return { value: document, detail: msg`The document names the same issuer.` };
  }

  private checkEndpoints(document: ServerDocument): Step<undefined> {
    const { authorization_endpoint: authorization, token_endpoint: token } = document;
    for (const address of [authorization, token, document.jwks_uri]) {
      if (address === undefined) {
        throw new StepError(
          msg`The document lacks authorization_endpoint, token_endpoint or jwks_uri. This service needs all of them.`,
        );
      }
      this.http.assertSecureAddress(address);
    }
    const methods = document.code_challenge_methods_supported;
    if (methods && !methods.includes('S256')) {
      throw new StepError(
        msg`The provider does not support PKCE with S256. Allow it there for this client.`,
      );
    }
    const optional = [
      ...(document.end_session_endpoint === undefined ? [] : ['end_session_endpoint']),
      ...(document.backchannel_logout_supported === true ? ['backchannel_logout'] : []),
    ];
    return {
      value: undefined,
      detail:
        optional.length > 0
          ? msg`The document has all endpoints, and ${optional.join(', ')}.`
          : msg`The document has all endpoints, but none for the sign-out.`,
    };
  }

  private async checkKeys(
    { jwks_uri: address = '' }: ServerDocument,
    signal: AbortSignal,
  ): Promise<Step<undefined>> {
    const { status, body } = await this.read(address, signal);
    const keys = keySet.safeParse(body).data?.keys ?? [];
    if (status !== 200 || keys.length === 0) {
      throw new StepError(
        msg`The provider shows no keys (HTTP ${status}), so its tokens cannot be verified.`,
      );
    }
    return { value: undefined, detail: msg`The provider has ${keys.length} keys.` };
  }

  /** Asks for the tokens of a code that does not exist: the provider checks the client first. */
  private async tryClient(provider: SsoProvider, redirectUri: string): Promise<Step<undefined>> {
    try {
      const { configuration } = await this.connections.of(provider);
      await oidc.genericGrantRequest(configuration, 'authorization_code', {
        code: 'test-of-the-connection',
        redirect_uri: redirectUri,
        code_verifier: oidc.randomPKCECodeVerifier(),
      });
    } catch (error) {
      const refused = error instanceof oidc.WWWAuthenticateChallengeError;
      const reason = error instanceof oidc.ResponseBodyError ? error.error : undefined;
      if (refused || reason === 'invalid_client' || reason === 'unauthorized_client') {
        throw new StepError(
          msg`The provider refuses client id or secret. Compare both with the registration there.`,
        );
      }
      if (reason === 'invalid_grant') {
        return { value: undefined, detail: msg`Client id and secret are right.` };
      }
      const cause = causeOf(error);
      if (cause) throw cause;
    }
    return {
      value: undefined,
      detail: msg`The provider does not say whether client id and secret are right. It shows at the first sign-in.`,
    };
  }

  /** Checks the groups of the last sign-ins, because groups cannot be read without a user. */
  private async checkGroups({ tenantId, id: providerId }: SsoProvider): Promise<Step<undefined>> {
    const count = await this.rows.identities.count(tenantId, { providerId, groupsOverage: true });
    if (count > 0) {
      throw new StepError(
        msg`Groups overage: ${count} users have more groups than their token names, and the provider did not list them when asked. They keep the roles that they had. Allow this client to read group memberships there, or let the provider send only the groups that are assigned to it.`,
      );
    }
    return { value: undefined, detail: msg`No sign-in has missed groups.` };
  }

  private async read(
    address: string,
    signal: AbortSignal,
  ): Promise<{ status: number; body: unknown }> {
    const options = {
      method: 'GET',
      headers: JSON_HEADERS,
      body: null,
      redirect: 'manual',
    } as const;
    const response = await this.connections.fetch(address, { ...options, signal });
    const text = await response.text();
    return { status: response.status, body: jsonOf(text) };
  }
}

interface Step<Value> {
  readonly value: Value;
  readonly detail: Message;
}

/** The steps of one test, each timed. A step that fails is recorded with its reason and ends the test. */
class DiagnosisRun {
  private readonly steps: SsoStepView[] = [];

  async step<Value>(name: SsoStep, work: () => Step<Value> | Promise<Step<Value>>): Promise<Value> {
    const began = performance.now();
    try {
      const { value, detail } = await work();
      this.add(name, true, began, detail);
      return value;
    } catch (error) {
      this.add(name, false, began, error instanceof DomainError ? error.userMessage : literal(''));
      throw error;
    }
  }

  result(redirectUri: string, advice: Message): SsoDiagnosisView {
    const ok = this.steps.every((step) => step.ok);
    return { ok, redirectUri, steps: this.steps, advice: localized(advice) };
  }

  private add(step: SsoStep, ok: boolean, began: number, detail: Message): void {
    const ms = Math.round(performance.now() - began);
    this.steps.push({ step, ok, ms, detail: localized(detail) });
  }
}

function documentAddress(issuer: string): string {
  return issuer.replace(/\/$/, '') + WELL_KNOWN;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The failure below HTTP that a library has wrapped. */
function causeOf(error: unknown): DomainError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DomainError) return cause;
  }
  return undefined;
}
