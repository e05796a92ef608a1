import { API_KEY_PREFIX, API_SURFACES, TOOL_CONSENTS } from '../platform/access/index.js';
import {
  flag,
  integer,
  integers,
  nullable,
  number,
  oneOf,
  recordRevision,
  someOf,
  text,
  texts,
  time,
  View,
} from '../platform/http/index.js';
import type { ListedApiKey } from './api-key.repository.js';

/** A key without its secret. */
export class ApiKeyView extends View({
  id: number({ example: 1 }),
  revision: recordRevision(),
  name: text({ example: 'Notebook' }),
  prefix: text({ description: 'sk-plinth-<keyId>: how the key begins; names it in logs' }),
  keyId: text({ example: '0123456789abcdef' }),
  userId: number({ example: 1, description: 'Id of the owner' }),
  userName: text({ example: 'admin' }),
  isServiceAccount: flag({ description: 'Whether the owner is a service account' }),
  permissions: texts({ example: ['chat:chat:use'] }),
  modelIds: nullable(integers({ description: 'null: no limit' })),
  agentIds: nullable(integers({ description: 'null: no limit' })),
  knowledgeIds: nullable(integers({ description: 'null: no limit' })),
  addresses: nullable(texts({ example: ['192.0.2.0/24'], description: 'null: no limit' })),
  doors: nullable(someOf(API_SURFACES, { description: 'null: no limit' })),
  tags: texts({
    example: ['research'],
    description: 'The tags that requests with the key may have',
  }),
  strictParameters: flag({
    description: 'Whether a parameter that the model does not know is refused',
  }),
  toolConsent: oneOf(TOOL_CONSENTS, {
    description: 'What becomes of calls of tools that ask a person',
  }),
  state: oneOf(['active', 'expired', 'revoked']),
  expireTime: nullable(time({ description: 'The key is not valid from then on' })),
  application: nullable(
    text({
      example: 'claude.ai',
      description:
        'The host of the application that was connected with OAuth and has the key; null: a user created it',
    }),
  ),
  renewableUntil: nullable(
    time({ description: 'Until then the application can renew the key; null: not at all' }),
  ),
  previousExpireTime: nullable(
    time({ description: 'The key before the last rotation is valid until then' }),
  ),
  lastUsedTime: nullable(time({ description: 'To the minute' })),
  revokedTime: nullable(time()),
  createTime: time(),
}) {}

/** A key with its secret: the only answer that has it. */
export class NewApiKeyView extends View({
  id: integer({ example: 1 }),
  prefix: text({ description: 'sk-plinth-<id>: how the key begins' }),
  key: text({
    description: 'sk-plinth-<id>-<256 bits>-<checksum>. Keep it: it is never shown again',
  }),
}) {}

export class ApiKeyPermissionView extends View({
  permission: text({ example: 'chat:chat:use' }),
  group: text({ example: 'chat' }),
  description: text({ example: 'Send messages, stop answers and vote on them' }),
}) {}

export function toApiKeyView(key: ListedApiKey, now = new Date()): ApiKeyView {
  const end = key.renewableUntil ?? key.expireTime;
  const isExpired = end !== null && end <= now;
  return ApiKeyView.of(key, {
    prefix: prefixOf(key.keyId),
    state: key.revokedTime ? 'revoked' : isExpired ? 'expired' : 'active',
  });
}

export function prefixOf(keyId: string): string {
  return `${API_KEY_PREFIX}${keyId}`;
}
