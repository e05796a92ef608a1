import { Given, Input, Text } from '../../platform/http/index.js';
import { MAX_FILTER_CHARS } from './scim.filter.js';

const TEXT = { type: 'string' } as const;
const OBJECT = { type: 'object', additionalProperties: true } as const;
const OBJECTS = { type: 'array', items: OBJECT } as const;

const attributeSelection = {
  attributes: Text({
    optional: true,
    max: 2_000,
    example: 'userName,active',
    description: 'Separated by commas: only these, beside id and schemas',
  }),
  excludedAttributes: Text({ optional: true, max: 2_000, example: 'members' }),
};

export class ScimShownQuery extends Input(attributeSelection) {}

export class ScimListQuery extends Input({
  ...attributeSelection,
  filter: Text({
    optional: true,
    max: MAX_FILTER_CHARS,
    example: 'userName eq "jo@example.com"',
    description: 'RFC 7644, 3.4.2.2',
  }),
  startIndex: Text({ optional: true, max: 20, example: '1', description: 'From 1' }),
  count: Text({ optional: true, max: 20, example: '100', description: 'At most 200' }),
}) {}

/** A user resource, checked by scim.changes.ts with the errors of SCIM. Other attributes of RFC 7643 are accepted and ignored. */
export class ScimUserBody extends Input({
  schemas: Given({ type: 'array', items: TEXT }),
  userName: Given(TEXT, { description: 'Required for a new user', example: 'jo@example.com' }),
  externalId: Given(TEXT, { description: 'The id in the directory' }),
  displayName: Given(TEXT, { example: 'Jo Doe' }),
  name: Given(OBJECT, { description: 'formatted, givenName, familyName' }),
  emails: Given(OBJECTS, { description: 'The primary one is kept, or that of work, or the first' }),
  phoneNumbers: Given(OBJECTS, { description: 'The same' }),
  active: Given({ type: 'boolean' }, { description: 'False ends sign-ins, streams and keys' }),
}) {}

export class ScimGroupBody extends Input({
  schemas: Given({ type: 'array', items: TEXT }),
  displayName: Given(TEXT, { description: 'Required for a new group', example: 'Engineering' }),
  externalId: Given(TEXT, { description: 'The id in the directory' }),
  members: Given(OBJECTS, {
    description: 'value is the id of a user, or of a group with type Group',
  }),
}) {}

export class ScimPatchBody extends Input({
  schemas: Given({ type: 'array', items: TEXT }),
  Operations: Given(OBJECTS, { description: 'op, path and value: RFC 7644, 3.5.2' }),
}) {}
