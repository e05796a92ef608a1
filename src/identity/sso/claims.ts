import type { RoleMapping } from './sso.entity.js';

export type Claims = Readonly<Record<string, unknown>>;

/** Limit of the groups that the claims of a user name, and of the length of a name. */
export const MAX_USER_GROUPS = 1_000;
const MAX_GROUP_CHARS = 255;

/** The mapped value that matches every user of the provider. */
export const EVERY_USER = '*';

const MIN_NAME_CHARS = 2;
const MAX_NAME_CHARS = 64;

/**
 * The values of a claim: a text, or a list of texts. A name with dots that is no claim itself leads into objects, as in
 * realm_access.roles.
 */
export function valuesOf(claims: Claims, name: string): string[] {
  const value = claims[name] ?? inside(claims, name.split('.'));
  const values = Array.isArray(value) ? (value as unknown[]) : [value];
  return values.filter((one) => typeof one === 'string');
}

/** Whether the claims have the claim, perhaps without a value. */
export function hasClaim(claims: Claims, name: string): boolean {
  return (claims[name] ?? inside(claims, name.split('.'))) !== undefined;
}

/** The groups that the claims name. Values that cannot be stored unchanged name none. */
export function groupsIn(claims: Claims, groupsClaim: string | null): string[] {
  const values = groupsClaim === null ? [] : valuesOf(claims, groupsClaim);
  const names = values.filter(
    (value) =>
      value.trim() !== '' &&
      value.length <= MAX_GROUP_CHARS &&
      value.isWellFormed() &&
      !value.includes('\0'),
  );
  return [...new Set(names)];
}

/** The roles that the claims give, of those that are mapped. */
export function mappedRoles(
  mapping: readonly RoleMapping[],
  claims: Claims,
  groupsClaim: string | null,
): number[] {
  const values = new Set(groupsClaim === null ? [] : valuesOf(claims, groupsClaim));
  const roles = mapping.filter(({ value }) => value === EVERY_USER || values.has(value));
  return [...new Set(roles.map(({ roleId }) => roleId))];
}

/**
 * The roles of a user after a sign-in: of those that the mapping names exactly the mapped ones, and every other one that the
 * user has already. An empty mapping only adds, and so does any mapping where the groups are unknown.
 */
export function rolesAfter(
  current: readonly number[],
  mapping: readonly RoleMapping[],
  mapped: readonly number[],
  isOverage = false,
): number[] {
  const managed = new Set(isOverage ? [] : mapping.map(({ roleId }) => roleId));
  return [...new Set([...current.filter((id) => !managed.has(id)), ...mapped])].sort(
    (a, b) => a - b,
  );
}

/**
 * Issuers of Microsoft Entra ID, with the host of Microsoft Graph in the same cloud. Their claim `oid` is the id of a user in the
 * directory; their `sub` is another one for each client.
 */
const ENTRA_GRAPH_HOSTS: ReadonlyMap<string, string> = new Map([
  ['login.microsoftonline.com', 'graph.microsoft.com'],
  ['login.microsoftonline.us', 'graph.microsoft.us'],
  ['login.partner.microsoftonline.cn', 'microsoftgraph.chinacloudapi.cn'],
]);

/** The host that lists the groups of a user of Entra; undefined for another issuer. */
export function entraGraphHost(issuer: string): string | undefined {
  return ENTRA_GRAPH_HOSTS.get(URL.parse(issuer)?.hostname ?? '');
}

/** Whether the provider says that the user has groups which it has left out of the claims. */
export function namesGroupsElsewhere(claims: Claims, groupsClaim: string): boolean {
  if (valuesOf(claims, groupsClaim).length > 0) return false;
  const names = claims['_claim_names'];
  const isNamed =
    typeof names === 'object' &&
    names !== null &&
    [groupsClaim, groupsClaim.split('.')[0] ?? ''].some((name) => Object.hasOwn(names, name));
  // Entra writes it as a boolean or a text, and only for the claim `groups`.
  return isNamed || (groupsClaim === 'groups' && String(claims['hasgroups']) === 'true');
}

/** The ids of the user in the directory, from claims that only the provider can set. */
export function directoryIds(issuer: string, claims: Claims, subject: string): string[] {
  const oid = claims['oid'];
  const isEntra = entraGraphHost(issuer) !== undefined;
  return typeof oid === 'string' && isEntra ? [subject, oid] : [subject];
}

/** The name for a new user; it may be taken. */
export function userNameOf(claims: Claims, subject: string): string {
  const candidates = [claims['preferred_username'], claims['email'], subject, 'user'];
  const names = candidates.map((one) => (typeof one === 'string' ? fitting(one) : ''));
  return names.find(({ length }) => length >= MIN_NAME_CHARS) ?? 'user';
}

/** The name with a number, for the case that it is taken. */
export function numbered(name: string, number: number): string {
  const end = `-${number}`;
  return name.slice(0, MAX_NAME_CHARS - end.length) + end;
}

export function textClaim(claims: Claims, name: string, maxChars: number): string | undefined {
  const value = claims[name];
  if (typeof value !== 'string') return undefined;
  return value.toWellFormed().replaceAll('\0', '').trim().slice(0, maxChars) || undefined;
}

/** A claim that identifies a user or a session: undefined if it cannot be stored unchanged. */
export function identityClaim(claims: Claims, name: string, maxChars: number): string | undefined {
  const text = textClaim(claims, name, maxChars);
  return text === claims[name] ? text : undefined;
}

function fitting(name: string): string {
  return name.toWellFormed().replaceAll('\0', '').replaceAll(/\s+/g, '').slice(0, MAX_NAME_CHARS);
}

function inside(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (current, name) =>
      typeof current === 'object' && current !== null && Object.hasOwn(current, name)
        ? (current as Claims)[name]
        : undefined,
    value,
  );
}
