import { API_SURFACES, MAX_TAG_CHARS, TOOL_CONSENTS } from '../platform/access/index.js';
import {
  BasedOnRevision,
  Flag,
  GIVEN_TIME,
  GIVEN_TIME_MESSAGE,
  Id,
  Ids,
  Input,
  OneOf,
  pageFields,
  Text,
  Texts,
  Whole,
} from '../platform/http/index.js';

/** The limits of a key that can be removed again. */
export const LIMITS = [
  'models',
  'agents',
  'knowledgeBases',
  'addresses',
  'doors',
  'expireTime',
] as const;
export type Limit = (typeof LIMITS)[number];

const MAX_ID_COUNT = 200;
const MAX_TAG_COUNT = 100;
const WEEK_SECONDS = 604_800;

export class ApiKeyListQuery extends Input({
  ...pageFields('id', 'name', 'keyId', 'expireTime', 'lastUsedTime', 'revokedTime', 'createTime'),
  scope: OneOf(['own', 'tenant'], {
    optional: true,
    description: 'own: those of the caller, the default; tenant: of all users of the tenant',
  }),
  userId: Id({ optional: true, description: 'The owner; for the scope tenant' }),
  name: Text({ optional: true, description: 'Part of the name' }),
}) {}

/** The optional fields of a key. */
const keyFields = {
  permissions: Texts({
    optional: true,
    max: 100,
    maxItems: 500,
    example: ['chat:chat:use'],
    description: 'Of GET /system/apikey/permissions; system:info:* stands for all that begin so',
  }),
  modelIds: Ids({
    optional: true,
    maxItems: MAX_ID_COUNT,
    description:
      'The only models that the key can use, also as fallbacks and by agents and knowledge bases. Absent: no limit',
  }),
  agentIds: Ids({
    optional: true,
    maxItems: MAX_ID_COUNT,
    description: 'The only agents that the key can use. Absent: no limit',
  }),
  knowledgeIds: Ids({
    optional: true,
    maxItems: MAX_ID_COUNT,
    description: 'The only knowledge bases that the key can use, also by agents. Absent: no limit',
  }),
  addresses: Texts({
    optional: true,
    max: 64,
    maxItems: 100,
    example: ['192.0.2.0/24'],
    description: 'The addresses and networks (CIDR) of its clients. Absent: no limit',
  }),
  doors: Texts({
    optional: true,
    max: 16,
    maxItems: API_SURFACES.length,
    example: ['v1'],
    description: `The interfaces that the key can use, of ${API_SURFACES.join(', ')}. Absent: no limit`,
  }),
  tags: Texts({
    optional: true,
    max: MAX_TAG_CHARS,
    maxItems: MAX_TAG_COUNT,
    example: ['research'],
    description:
      'The tags that its requests may have, in the header x-plinth-tags or in metadata.tags below /v1: usage and limits count them. Absent: none',
  }),
  strictParameters: Flag({
    optional: true,
    description:
      'true: below /v1, a parameter that the model does not know is refused with its name. Default false: it is left out and named in the header x-plinth-ignored',
  }),
  toolConsent: OneOf(TOOL_CONSENTS, {
    optional: true,
    description:
      'What becomes of calls of agents’ tools that ask a person (consent ask). refuse: they are not executed, the default; allow: they are, without asking, and recorded',
  }),
  expireTime: Text({
    optional: true,
    min: 1,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    example: '2030-12-31 00:00:00',
    description: 'The key is not valid from then on. Absent: never',
  }),
};

export class NewApiKeyDto extends Input({
  ...keyFields,
  name: Text({ max: 100, example: 'Notebook' }),
  userId: Id({
    optional: true,
    description: 'The owner; default: the caller. Another one needs system:apikey:others',
  }),
}) {}

export class ChangedApiKeyDto extends Input({
  ...keyFields,
  id: Id(),
  revision: BasedOnRevision(),
  name: Text({ optional: true, min: 1, max: 100 }),
  withoutLimits: Texts({
    optional: true,
    max: 20,
    maxItems: LIMITS.length,
    example: ['addresses'],
    description: `The limits to remove, of ${LIMITS.join(', ')}`,
  }),
}) {}

export class RotateApiKeyDto extends Input({
  overlapSeconds: Whole({
    optional: true,
    min: 0,
    max: WEEK_SECONDS,
    description: 'For so long the old key stays valid; default 0',
  }),
}) {}
