import { Injectable, Logger } from '@nestjs/common';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import { entraGraphHost, namesGroupsElsewhere, valuesOf } from './claims.js';
import type { Claims } from './claims.js';
import { summaryOf } from './oidc.failure.js';
import { OidcConnections } from './oidc.connections.js';
import type { SsoProvider } from './sso.entity.js';

/** Actions of Microsoft Graph that list groups. They are called with POST; every other source of claims is read with GET. */
const GRAPH_ACTION = /\/getMember(Objects|Groups)\/?$/i;
const GRAPH_BODY = JSON.stringify({ securityEnabledOnly: false });
const LIMIT_MS = 20_000;

const claimNames = z.record(z.string(), z.string());
const claimSources = z.record(
  z.string(),
  z.looseObject({ endpoint: z.string(), access_token: z.string().optional() }),
);
const memberObjects = z.looseObject({
  value: z.array(z.union([z.string(), z.looseObject({ id: z.string() })])),
  '@odata.nextLink': z.string().optional(),
});

interface GroupsSource {
  readonly endpoint: string;
  readonly accessToken: string;
}

/**
 * Reads the groups that a provider leaves out of its token because they are too many. It names an endpoint for them instead
 * (OpenID Connect Core 1.0, 5.6.2), or says `hasgroups` ("Groups overage claim" in the documentation of Microsoft Entra ID,
 * which limits a token to 200 groups).
 */
@Injectable()
export class SsoGroups {
  private readonly logger = new Logger(SsoGroups.name);

  constructor(private readonly connections: OidcConnections) {}

  /** The claims with the groups from the endpoint. `isOverage` where there are groups that could not be read. */
  async complete(
    provider: SsoProvider,
    claims: Claims,
    accessToken: string,
  ): Promise<{ readonly claims: Claims; readonly isOverage: boolean }> {
    const { groupsClaim, id, tenantId: tenant } = provider;
    if (groupsClaim === null || !namesGroupsElsewhere(claims, groupsClaim)) {
      return { claims, isOverage: false };
    }
    const source = sourceOf(provider, groupsClaim, claims, accessToken);
    try {
      const groups = source && (await this.read(provider, groupsClaim, source));
      if (groups) return { claims: { ...claims, [groupsClaim]: groups }, isOverage: false };
    } catch (error) {
      const reason = { provider: id, error: summaryOf(error) };
      this.logger.warn({ msg: 'Failed to read groups at provider', tenant, ...reason });
    }
    return { claims, isOverage: true };
  }

  /** Reads the groups; undefined for an answer that does not list all of them. */
  private async read(
    provider: SsoProvider,
    groupsClaim: string,
    { endpoint, accessToken }: GroupsSource,
  ): Promise<readonly string[] | undefined> {
    const isAction = GRAPH_ACTION.test(new URL(endpoint).pathname);
    const response = await this.connections.fetch(endpoint, {
      method: isAction ? 'POST' : 'GET',
      headers: {
        accept: 'application/json, application/jwt',
        authorization: `Bearer ${accessToken}`,
        ...(isAction && { 'content-type': 'application/json' }),
      },
      body: isAction ? GRAPH_BODY : null,
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    if (!response.ok)
      throw new Error(`The endpoint of the groups answered HTTP ${response.status}.`);
    const text = (await response.text()).trim();
    const answer = text.startsWith('{')
      ? (JSON.parse(text) as Claims)
      : await this.verified(provider, text);
    const members = memberObjects.safeParse(answer).data;
    if (members) {
      if (members['@odata.nextLink'] !== undefined) return undefined;
      return members.value.map((one) => (typeof one === 'string' ? one : one.id));
    }
    const groups = valuesOf(answer, groupsClaim);
    return groups.length > 0 ? groups : undefined;
  }

  private async verified(provider: SsoProvider, token: string): Promise<Claims> {
    const { keys } = await this.connections.of(provider);
    const { payload } = await jwtVerify(token, keys, { issuer: provider.issuer });
    return payload;
  }
}

/**
 * The endpoint that lists the groups. Entra names an endpoint of the retired Azure AD Graph, so its users are looked up at Microsoft
 * Graph.
 */
function sourceOf(
  { issuer }: SsoProvider,
  groupsClaim: string,
  claims: Claims,
  accessToken: string,
): GroupsSource | undefined {
  const graph = entraGraphHost(issuer);
  if (graph !== undefined) {
    return { endpoint: `https://${graph}/v1.0/me/getMemberObjects`, accessToken };
  }
  const names = claimNames.safeParse(claims['_claim_names']).data ?? {};
  const name = names[groupsClaim] ?? names[groupsClaim.split('.')[0] ?? ''];
  const sources = claimSources.safeParse(claims['_claim_sources']).data ?? {};
  const source = name === undefined ? undefined : sources[name];
  if (source === undefined || !URL.canParse(source.endpoint)) return undefined;
  return { endpoint: source.endpoint, accessToken: source.access_token ?? accessToken };
}
