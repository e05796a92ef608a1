import { msg } from '../../platform/message/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { MAX_RESULTS } from './scim.list.js';
import { GROUP_SCHEMA, USER_SCHEMA } from './scim.view.js';
import type { ScimResource } from './scim.view.js';

interface AttributeOptions {
  readonly type?: 'string' | 'boolean' | 'complex' | 'reference';
  readonly multiValued?: boolean;
  readonly required?: boolean;
  readonly caseExact?: boolean;
  readonly mutability?: 'readWrite' | 'readOnly' | 'immutable';
  readonly returned?: 'default' | 'request' | 'always';
  readonly uniqueness?: 'none' | 'server';
  readonly referenceTypes?: readonly string[];
  readonly canonicalValues?: readonly string[];
  readonly subAttributes?: readonly ScimResource[];
}

function attribute(
  name: string,
  description: string,
  options: AttributeOptions = {},
): ScimResource {
  const { subAttributes, referenceTypes, canonicalValues, ...others } = options;
  return {
    name,
    description,
    type: 'string',
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...others,
    ...(canonicalValues && { canonicalValues }),
    ...(referenceTypes && { referenceTypes }),
    ...(subAttributes && { subAttributes }),
  };
}

const EXTERNAL_ID = attribute('externalId', 'The id in the directory.', {
  caseExact: true,
  uniqueness: 'server',
});

function address(name: string, description: string): ScimResource {
  return attribute(name, description, {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The address.'),
      attribute('type', 'Always work.', { mutability: 'readOnly' }),
      attribute('primary', 'Always true.', { type: 'boolean', mutability: 'readOnly' }),
    ],
  });
}

/** References to users or groups (RFC 7643, 2.4). */
function references(
  name: string,
  description: string,
  reference: Pick<AttributeOptions, 'canonicalValues' | 'referenceTypes' | 'mutability'>,
  options: AttributeOptions = {},
): ScimResource {
  const { canonicalValues, referenceTypes, mutability } = reference;
  return attribute(name, description, {
    type: 'complex',
    multiValued: true,
    ...options,
    subAttributes: [
      attribute('value', 'The id.', { caseExact: true }),
      attribute('display', 'The name.', { mutability: 'readOnly' }),
      attribute('type', 'The kind of reference.', { canonicalValues, mutability }),
      attribute('$ref', 'The address.', { type: 'reference', referenceTypes, mutability }),
    ],
  });
}

const USER_ATTRIBUTES = [
  attribute('userName', 'The name to sign in with: 2 to 64 characters without spaces.', {
    required: true,
    uniqueness: 'server',
  }),
  EXTERNAL_ID,
  attribute('displayName', 'The name that is shown.'),
  attribute('name', 'The parts of the name.', {
    type: 'complex',
    subAttributes: [
      attribute('formatted', 'As displayName.'),
      attribute('givenName', 'The given name.'),
      attribute('familyName', 'The family name.'),
    ],
  }),
  address('emails', 'One e-mail address.'),
  address('phoneNumbers', 'One telephone number.'),
  attribute('active', 'False ends sign-ins, open streams, API keys and runs.', { type: 'boolean' }),
  references(
    'groups',
    'The groups of the user.',
    {
      canonicalValues: ['direct', 'indirect'],
      referenceTypes: ['Group'],
      mutability: 'readOnly',
    },
    { mutability: 'readOnly', returned: 'request' },
  ),
];

const GROUP_ATTRIBUTES = [
  attribute('displayName', 'The name, which a role mapping can name.', {
    required: true,
    uniqueness: 'server',
  }),
  EXTERNAL_ID,
  references('members', 'The users and groups in the group.', {
    canonicalValues: ['User', 'Group'],
    referenceTypes: ['User', 'Group'],
    mutability: 'immutable',
  }),
];

const SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const RESOURCE_TYPE = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';

export function schemas(base: string): ScimResource[] {
  return [
    { id: USER_SCHEMA, name: 'User', description: 'User', attributes: USER_ATTRIBUTES },
    { id: GROUP_SCHEMA, name: 'Group', description: 'Group', attributes: GROUP_ATTRIBUTES },
  ].map((one) => ({
    schemas: [SCHEMA],
    ...one,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${one.id}` },
  }));
}

export function resourceTypes(base: string): ScimResource[] {
  return [
    { id: 'User', name: 'User', endpoint: '/Users', description: 'User', schema: USER_SCHEMA },
    { id: 'Group', name: 'Group', endpoint: '/Groups', description: 'Group', schema: GROUP_SCHEMA },
  ].map((one) => ({
    schemas: [RESOURCE_TYPE],
    ...one,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${one.id}` },
  }));
}

/** The resource with the id. Throws NotFoundError if there is none. */
export function withId(resources: readonly ScimResource[], id: string): ScimResource {
  const resource = resources.find((one) => one['id'] === id);
  if (!resource) throw new NotFoundError(msg`The schema`);
  return resource;
}

/** The parts of SCIM that this service supports. */
export function serviceProviderConfig(base: string): ScimResource {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_RESULTS },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'API key',
        description: 'An API key with the permission system:scim:provision as a bearer token',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}
