import {
  flag,
  integer,
  list,
  optional,
  schema,
  text,
  texts,
  View,
} from '../../platform/http/index.js';
import type { GroupRow, MemberRow, UserGroupRow, UserRow } from './scim.repository.js';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export type ScimResource = Readonly<Record<string, unknown>>;

export class ScimFailureView extends View({
  schemas: texts({ example: ['urn:ietf:params:scim:api:messages:2.0:Error'] }),
  status: text({ example: '404', description: 'As the HTTP status' }),
  scimType: optional(text({ example: 'invalidFilter' })),
  detail: text(),
}) {}

class ScimMetaView extends View({
  resourceType: text({ example: 'User' }),
  created: text({ example: '2026-01-31T10:30:00.000Z' }),
  lastModified: text({ example: '2026-01-31T10:30:00.000Z' }),
  location: text(),
}) {}

class ScimValueView extends View({
  value: text(),
  type: optional(text({ example: 'work', description: 'User or Group of a member of a group' })),
  primary: optional(flag()),
  display: optional(text()),
  $ref: optional(text()),
}) {}

export class ScimUserView extends View({
  schemas: texts({ example: [USER_SCHEMA] }),
  id: text({ example: '12' }),
  externalId: optional(text()),
  userName: optional(text({ example: 'jo@example.com' })),
  displayName: optional(text({ example: 'Jo Doe' })),
  name: optional(schema<object>({ type: 'object', additionalProperties: true })),
  emails: optional(list(ScimValueView)),
  phoneNumbers: optional(list(ScimValueView)),
  active: optional(flag()),
  groups: optional(list(ScimValueView, { description: 'Only where attributes names them' })),
  meta: optional(schema<ScimMetaView>({ type: () => ScimMetaView })),
}) {}

export class ScimGroupView extends View({
  schemas: texts({ example: [GROUP_SCHEMA] }),
  id: text({ example: '3' }),
  externalId: optional(text()),
  displayName: optional(text({ example: 'Engineering' })),
  members: optional(list(ScimValueView)),
  meta: optional(schema<ScimMetaView>({ type: () => ScimMetaView })),
}) {}

/** A document of the service about itself. */
export class ScimObjectView extends View({ schemas: texts() }) {}

export class ScimListView extends View({
  schemas: texts({ example: [LIST_SCHEMA] }),
  totalResults: integer({ example: 1 }),
  startIndex: integer({ example: 1 }),
  itemsPerPage: integer({ example: 1, description: 'May be fewer than asked for' }),
  Resources: schema<object[]>({ type: 'array', items: { type: 'object' } }),
}) {}

export function toScimUser(
  row: UserRow,
  base: string,
  groups?: readonly UserGroupRow[],
): ScimResource {
  const { givenName, familyName, externalId, email, phonenumber } = row;
  return {
    schemas: [USER_SCHEMA],
    id: String(row.id),
    ...(externalId !== null && { externalId }),
    userName: row.userName,
    displayName: row.nickName,
    name: {
      formatted: row.nickName,
      ...(givenName !== null && { givenName }),
      ...(familyName !== null && { familyName }),
    },
    ...(email && { emails: [{ value: email, type: 'work', primary: true }] }),
    ...(phonenumber && { phoneNumbers: [{ value: phonenumber, type: 'work' }] }),
    active: row.status === '0',
    ...(groups && {
      groups: groups.map(({ id, name, isDirect }) => ({
        value: String(id),
        display: name,
        $ref: `${base}/Groups/${id}`,
        type: isDirect ? 'direct' : 'indirect',
      })),
    }),
    meta: metaOf('User', row, `${base}/Users/${row.id}`),
  };
}

export function toScimGroup(
  row: GroupRow,
  base: string,
  members?: readonly MemberRow[],
): ScimResource {
  const { externalId } = row;
  return {
    schemas: [GROUP_SCHEMA],
    id: String(row.id),
    ...(externalId !== null && { externalId }),
    displayName: row.displayName,
    ...(members && {
      members: members.map(({ type, id, name }) => ({
        value: String(id),
        display: name,
        $ref: `${base}/${type}s/${id}`,
        type,
      })),
    }),
    meta: metaOf('Group', row, `${base}/Groups/${row.id}`),
  };
}

function metaOf(
  resourceType: string,
  { createTime, updateTime }: { readonly createTime: Date; readonly updateTime: Date },
  location: string,
): ScimResource {
  return {
    resourceType,
    created: createTime.toISOString(),
    lastModified: updateTime.toISOString(),
    location,
  };
}

/** The attributes that a client asks for. Names are compared by their first part, ignoring case. */
export class AttributeSelection {
  private readonly only: ReadonlySet<string> | undefined;
  private readonly without: ReadonlySet<string>;

  constructor(query: {
    readonly attributes?: string | undefined;
    readonly excludedAttributes?: string | undefined;
  }) {
    this.only = query.attributes ? namesIn(query.attributes) : undefined;
    this.without = namesIn(query.excludedAttributes ?? '');
  }

  /** Whether the attribute was asked for by its name. */
  names(attribute: string): boolean {
    return this.only?.has(attribute) ?? false;
  }

  has(attribute: string): boolean {
    if (attribute === 'id' || attribute === 'schemas') return true;
    if (this.only) return this.only.has(attribute.toLowerCase());
    return !this.without.has(attribute.toLowerCase());
  }

  of(resource: ScimResource): ScimResource {
    return Object.fromEntries(Object.entries(resource).filter(([name]) => this.has(name)));
  }
}

function namesIn(text: string): ReadonlySet<string> {
  const names = text.split(',').map((name) => {
    const plain = name
      .trim()
      .toLowerCase()
      .replace(/^urn:.*:(?=[^:]*$)/, '');
    return plain.split('.')[0] ?? '';
  });
  return new Set(names.filter((name) => name !== ''));
}
