import { PASSWORD } from '../people.js';
import { callsOf, decisionAbout, turnOf, uncertainCall, waitingTurn } from './chat.records.js';
import { harnessReferences, noHarnessReferences } from './harness.references.js';
import { harnessSession } from './harness.records.js';
import {
  attachment,
  documentName,
  fragment,
  knowledgeBase,
  sourceFile,
  testQuery,
} from './library.records.js';
import { mediaTask } from './media.records.js';
import {
  apiBatch,
  apiFile,
  messageBatch,
  agent,
  apiKey,
  chatFile,
  chatAnswer,
  chatMessage,
  chatSession,
  conversationItem,
  responseConversation,
  storedResponse,
  client,
  clientNumber,
  dictionaryEntry,
  dictionaryType,
  dictionaryTypeName,
  feedback,
  file,
  fresh,
  idOf,
  heldUser,
  limit,
  model,
  noticeTarget,
  schedule,
  searchProvider,
  modelKey,
  modelName,
  provisionedGroup,
  ownSignIn,
  provider,
  providerCode,
  role,
  signIn,
  ssoProvider,
  serverTool,
  toolServer,
  tenant,
  tenantNumber,
  user,
  userGroup,
} from './records.js';
import type { RecordKind } from './records.js';
import { COMMON_MODEL, COMMON_PROVIDER } from './world.js';
import type { Member, World } from './world.js';

/** How a route names a record. A parameter of the path needs neither body nor query. */
export interface Reference {
  readonly kind: RecordKind;
  /** The rest of the request is such that a stranger's would be accepted, if it were not for the id. */
  readonly body?: (id: string, by: Member, world: World) => object | Promise<object>;
  readonly query?: (id: string, by: Member, world: World) => string | Promise<string>;
  /** The other parameters of the path, by their names; also how the id stands in its own. */
  readonly path?: (by: Member, world: World, id: string) => Promise<Record<string, string>>;
  /** What is answered for an id that names nothing: 404, or an empty list with 200. */
  readonly code?: number;
  /** The parameter takes several ids. */
  readonly several?: true;
}

const EMPTY = 200;
const SSO = { name: 'Company', issuer: 'http://127.0.0.1:9', clientId: 'plinth' };
const NO_CURSOR = '00000000-0000-4000-8000-000000000000';
const DAILY = { measure: 'tokens-day', cap: 1_000_000 };
const HELLO = [{ role: 'user', content: 'Hello' }];
const TIMED = { name: 'Report', message: 'Hello', model: COMMON_MODEL, cron: '0 6 * * *' };

/** A grant that leaves a base with a manager. */
const MANAGED = { subject: 'tenant', level: 'manage' };
const ofKnowledge = (): Promise<Record<string, string>> =>
  Promise.resolve({ resourceType: 'knowledge' });

/** A filter of a report by a record: one that names nothing is answered with nothing. */
function byField(field: string, kind: RecordKind): Reference {
  return { kind, query: (id) => `${field}=${id}`, code: EMPTY };
}

function usageReferences() {
  return {
    apiKeyId: byField('apiKeyId', apiKey),
    modelId: byField('modelId', model),
    agentId: byField('agentId', agent),
    groupId: byField('groupId', userGroup),
  };
}

/** A new agent of the stranger's own, but for one field. */
function agentWith(field: string): Reference['body'] & object {
  return async (ids, by, world) => ({
    agentName: fresh('agent'),
    modelId: await model.make(by, world),
    [field]: ids,
  });
}

/** A change of an API key of the stranger's own. */
function changedKey(field: string): Reference['body'] & object {
  return async (ids, by, world) => ({ id: await apiKey.make(by, world), [field]: ids });
}

/** A change of the members of a group of the stranger's own. */
function membersOf(field: string, kind: RecordKind): Reference {
  return {
    kind,
    body: async (ids, by, world) => ({ groupId: await userGroup.make(by, world), [field]: ids }),
    several: true,
  };
}

const itemReferences: Record<string, Reference> = {
  id: {
    kind: responseConversation,
    path: async (by, world) => ({ itemId: await conversationItem.make(by, world) }),
  },
  itemId: {
    kind: conversationItem,
    path: async (by, world) => ({ id: await responseConversation.make(by, world) }),
  },
};

/** One entry for each parameter of each route that names a record. The suite fails when one is missing. */
export const references: Record<string, Record<string, Reference>> = {
  'GET /system/user/list': {
    roleId: { kind: role, query: (id) => `roleId=${id}`, code: EMPTY },
  },

  'POST /system/user/export': {
    roleId: { kind: role, body: (roleId) => ({ roleId }), code: EMPTY },
  },

  'GET /monitor/audit/list': {
    actorId: { kind: user, query: (id) => `actorId=${id}`, code: EMPTY },
    targetId: { kind: model, query: (id) => `targetId=${id}`, code: EMPTY },
  },

  'POST /monitor/audit/export': {
    actorId: { kind: user, body: (actorId) => ({ actorId }), code: EMPTY },
    targetId: { kind: model, body: (targetId) => ({ targetId }), code: EMPTY },
  },

  'GET /monitor/usage': { ...usageReferences(), userId: byField('userId', user) },
  'GET /monitor/usage/export': { ...usageReferences(), userId: byField('userId', user) },
  'GET /monitor/usage/own': usageReferences(),
  'GET /monitor/usage/own/export': usageReferences(),

  'GET /system/apikey/list': {
    userId: { kind: user, query: (id) => `scope=tenant&userId=${id}`, code: EMPTY },
  },
  'GET /system/apikey/:id': { id: { kind: apiKey } },
  'POST /system/apikey': {
    userId: { kind: user, body: (userId) => ({ name: fresh('key'), userId }) },
    modelIds: {
      kind: model,
      body: (modelIds) => ({ name: fresh('key'), modelIds }),
      several: true,
    },
    agentIds: {
      kind: agent,
      body: (agentIds) => ({ name: fresh('key'), agentIds }),
      several: true,
    },
    knowledgeIds: {
      kind: knowledgeBase,
      body: (knowledgeIds) => ({ name: fresh('key'), knowledgeIds }),
      several: true,
    },
  },
  'PUT /system/apikey': {
    id: { kind: apiKey, body: (id) => ({ id, name: 'New' }) },
    modelIds: { kind: model, body: changedKey('modelIds'), several: true },
    agentIds: { kind: agent, body: changedKey('agentIds'), several: true },
    knowledgeIds: { kind: knowledgeBase, body: changedKey('knowledgeIds'), several: true },
  },
  'POST /system/apikey/:id/rotate': { id: { kind: apiKey, body: () => ({}) } },
  'DELETE /system/apikey/:ids': { ids: { kind: apiKey, several: true } },

  'GET /system/limit/list': {
    userId: byField('userId', user),
    apiKeyId: byField('apiKeyId', apiKey),
    modelId: byField('modelId', model),
    groupId: byField('groupId', userGroup),
  },
  'GET /system/limit/:id': { id: { kind: limit } },
  'POST /system/limit': {
    userId: { kind: user, body: (userId) => ({ ...DAILY, scope: 'user', userId }) },
    apiKeyId: { kind: apiKey, body: (apiKeyId) => ({ ...DAILY, scope: 'key', apiKeyId }) },
    modelId: { kind: model, body: (modelId) => ({ ...DAILY, scope: 'model', modelId }) },
    groupId: { kind: userGroup, body: (groupId) => ({ ...DAILY, scope: 'group', groupId }) },
  },
  'PUT /system/limit': { id: { kind: limit, body: (id) => ({ id, cap: 2 }) } },
  'DELETE /system/limit/:ids': { ids: { kind: limit, several: true } },
  'DELETE /system/limit/target/:ids': { ids: { kind: noticeTarget, several: true } },

  'GET /schedule/:id': { id: { kind: schedule } },
  'GET /schedule/fire/list': { scheduleId: byField('scheduleId', schedule) },
  'POST /schedule/:id/run': { id: { kind: schedule } },
  'POST /schedule/:id/pause': { id: { kind: schedule, body: () => ({ paused: true }) } },
  'DELETE /schedule/:ids': { ids: { kind: schedule, several: true } },
  'POST /schedule': {
    agentId: { kind: agent, body: (agentId) => ({ ...TIMED, kind: 'chat', agentId }) },
    knowledgeId: {
      kind: knowledgeBase,
      body: (knowledgeId) => ({ ...TIMED, kind: 'chat', knowledgeId }),
    },
    model: { kind: modelName, body: (name) => ({ ...TIMED, kind: 'chat', model: name }) },
    harnessSessionId: {
      kind: harnessSession,
      body: (harnessSessionId) => ({ ...TIMED, kind: 'run', harnessSessionId }),
    },
  },
  'PUT /schedule': {
    id: { kind: schedule, body: (id) => ({ ...TIMED, id }) },
    agentId: {
      kind: agent,
      body: async (agentId, by, world) => ({
        ...{ ...TIMED, agentId, id: await schedule.make(by, world) },
      }),
    },
    knowledgeId: {
      kind: knowledgeBase,
      body: async (knowledgeId, by, world) => ({
        ...{ ...TIMED, knowledgeId, id: await schedule.make(by, world) },
      }),
    },
    model: {
      kind: modelName,
      body: async (name, by, world) => ({
        ...{ ...TIMED, model: name, id: await schedule.make(by, world) },
      }),
    },
    harnessSessionId: {
      kind: harnessSession,
      body: async (harnessSessionId, by, world) => {
        const own = await harnessSession.make(by, world);
        const body = { ...TIMED, kind: 'run', harnessSessionId: own };
        const id = idOf(await by.session.post('/schedule', body));
        return { ...TIMED, id, harnessSessionId };
      },
    },
  },
  'PUT /system/search': { id: { kind: searchProvider, body: (id) => ({ id, sortOrder: 2 }) } },
  'DELETE /system/search/:ids': { ids: { kind: searchProvider, several: true } },
  'POST /system/search/:id/test': { id: { kind: searchProvider, body: () => ({}) } },

  'GET /system/sso/:id': { id: { kind: ssoProvider } },
  'POST /system/sso': {
    'roleMapping.roleId': {
      kind: role,
      body: (roleId) => ({ ...SSO, roleMapping: [{ value: 'staff', roleId }] }),
    },
  },
  'PUT /system/sso': {
    id: { kind: ssoProvider, body: (id) => ({ id, name: 'New' }) },
    'roleMapping.roleId': {
      kind: role,
      body: async (roleId, by, world) => ({
        id: await ssoProvider.make(by, world),
        roleMapping: [{ value: 'staff', roleId }],
      }),
    },
  },
  'PUT /system/sso/settings': {
    breakGlassUserIds: {
      kind: user,
      body: (breakGlassUserIds) => ({ breakGlassUserIds }),
      several: true,
    },
  },
  'POST /system/sso/:id/test': { id: { kind: ssoProvider } },
  'DELETE /system/sso/:ids': { ids: { kind: ssoProvider, several: true } },

  'GET /system/group/list': { userId: byField('userId', user) },
  'GET /system/group/member/list': {
    groupId: { kind: userGroup, query: (id) => `groupId=${id}` },
  },
  'GET /system/group/:groupId': { groupId: { kind: userGroup } },
  'PUT /system/group': {
    groupId: { kind: userGroup, body: (groupId) => ({ groupId, remark: 'New' }) },
  },
  'PUT /system/group/member': {
    groupId: { kind: userGroup, body: (groupId) => ({ groupId }) },
    addedUserIds: membersOf('addedUserIds', user),
    addedGroupIds: membersOf('addedGroupIds', userGroup),
    removedUserIds: membersOf('removedUserIds', user),
    removedGroupIds: membersOf('removedGroupIds', userGroup),
  },
  'DELETE /system/group/:groupIds': { groupIds: { kind: userGroup, several: true } },

  'GET /scim/v2/Users/:id': { id: { kind: user } },
  'PUT /scim/v2/Users/:id': { id: { kind: user, body: () => ({ displayName: 'New' }) } },
  'PATCH /scim/v2/Users/:id': {
    id: {
      kind: user,
      body: () => ({ Operations: [{ op: 'replace', value: { displayName: 'New' } }] }),
    },
  },
  'DELETE /scim/v2/Users/:id': { id: { kind: user } },
  'GET /scim/v2/Groups/:id': { id: { kind: provisionedGroup } },
  'POST /scim/v2/Groups': {
    members: {
      kind: user,
      body: (value) => ({ displayName: fresh('group'), members: [{ value }] }),
      code: 400,
    },
  },
  'PUT /scim/v2/Groups/:id': {
    id: { kind: provisionedGroup, body: () => ({ displayName: fresh('group') }) },
    members: {
      kind: user,
      body: (value) => ({ members: [{ value }] }),
      path: async (by, world) => ({ id: await provisionedGroup.make(by, world) }),
      code: 400,
    },
  },
  'PATCH /scim/v2/Groups/:id': {
    id: {
      kind: provisionedGroup,
      body: () => ({ Operations: [{ op: 'replace', value: { displayName: fresh('group') } }] }),
    },
  },
  'DELETE /scim/v2/Groups/:id': { id: { kind: provisionedGroup } },

  'PUT /system/retention/hold/:userId': {
    userId: { kind: user, body: () => ({ reason: 'Proceedings' }) },
  },
  'DELETE /system/retention/hold/:userId': { userId: { kind: heldUser } },

  'DELETE /monitor/online/:tokenId': { tokenId: { kind: signIn } },
  'DELETE /monitor/online/myself/:tokenId': { tokenId: { kind: ownSignIn } },

  'GET /resource/oss/download/:id': { id: { kind: file } },
  'GET /resource/oss/listByIds/:ids': { ids: { kind: file, several: true, code: EMPTY } },
  'DELETE /resource/oss/:ids': { ids: { kind: file, several: true } },

  'GET /system/dict/data/list': {
    dictType: { kind: dictionaryTypeName, query: (type) => `dictType=${type}`, code: EMPTY },
  },
  'POST /system/dict/data/export': {
    dictType: { kind: dictionaryTypeName, body: (dictType) => ({ dictType }), code: EMPTY },
  },
  'POST /system/dict/type/export': {
    dictType: { kind: dictionaryTypeName, body: (dictType) => ({ dictType }), code: EMPTY },
  },
  'GET /system/dict/data/type/:dictType': { dictType: { kind: dictionaryTypeName, code: EMPTY } },
  'GET /system/dict/data/:dictCode': { dictCode: { kind: dictionaryEntry } },
  'POST /system/dict/data': {
    dictType: {
      kind: dictionaryTypeName,
      body: (dictType) => ({ dictType, dictLabel: 'New', dictValue: 'new' }),
      code: 400,
    },
  },
  'PUT /system/dict/data': {
    dictCode: { kind: dictionaryEntry, body: (dictCode) => ({ dictCode, dictLabel: 'New' }) },
    dictType: {
      kind: dictionaryTypeName,
      body: async (dictType, by, world) => ({
        dictCode: await dictionaryEntry.make(by, world),
        dictType,
      }),
      code: 400,
    },
  },
  'DELETE /system/dict/data/:dictCodes': { dictCodes: { kind: dictionaryEntry, several: true } },
  'GET /system/dict/type/list': {
    dictType: { kind: dictionaryTypeName, query: (type) => `dictType=${type}`, code: EMPTY },
  },
  'GET /system/dict/type/:dictId': { dictId: { kind: dictionaryType } },
  'PUT /system/dict/type': {
    dictId: { kind: dictionaryType, body: (dictId) => ({ dictId, dictName: 'New' }) },
  },
  'DELETE /system/dict/type/:dictIds': { dictIds: { kind: dictionaryType, several: true } },

  'GET /system/provider/:id': { id: { kind: provider } },
  'GET /system/provider/:id/models': { id: { kind: provider } },
  'PUT /system/provider': { id: { kind: provider, body: (id) => ({ id, providerName: 'New' }) } },
  'DELETE /system/provider/:ids': { ids: { kind: provider, several: true } },

  'GET /system/model/:id': { id: { kind: model } },
  'GET /system/model/:id/cooldowns': { id: { kind: model } },
  'GET /system/model/:id/prices': { id: { kind: model } },
  'POST /system/model': {
    providerCode: {
      kind: providerCode,
      body: (code) => ({ providerCode: code, category: 'chat', modelName: fresh('new') }),
      code: 400,
    },
    fallbackIds: {
      kind: model,
      body: (fallbackIds) => ({
        ...{ providerCode: COMMON_PROVIDER, category: 'chat', modelName: fresh('new') },
        ...{ apiHost: 'http://127.0.0.1:9', fallbackIds },
      }),
      several: true,
      code: 400,
    },
  },
  'PUT /system/model': {
    id: {
      kind: model,
      body: (id) => ({ id, providerCode: COMMON_PROVIDER, category: 'chat', modelName: 'new' }),
    },
    providerCode: {
      kind: providerCode,
      body: async (code, by, world) => ({ id: await model.make(by, world), providerCode: code }),
      code: 400,
    },
    fallbackIds: {
      kind: model,
      body: async (fallbackIds, by, world) => ({ id: await model.make(by, world), fallbackIds }),
      several: true,
      code: 400,
    },
    'keys.id': {
      kind: modelKey,
      body: async (id, by, world) => ({
        id: await model.make(by, world),
        keys: [{ id, label: 'Second' }],
      }),
    },
  },
  'PUT /system/model/batchKeyByProvider': {
    providerCode: {
      kind: providerCode,
      body: (code) => ({ providerCode: code, apiKey: fresh('sk-of-a-stranger-') }),
      code: 400,
    },
  },
  'DELETE /system/model/:ids': { ids: { kind: model, several: true } },
  'POST /system/model/:id/test': { id: { kind: model, body: () => ({}) } },

  'GET /access/:resourceType/:id': { id: { kind: knowledgeBase, path: ofKnowledge } },
  'PUT /access/:resourceType/:id': {
    id: { kind: knowledgeBase, path: ofKnowledge, body: () => ({ grants: [MANAGED] }) },
    'grants.subject': {
      kind: user,
      code: 400,
      path: async (by, world) => ({
        ...(await ofKnowledge()),
        id: await knowledgeBase.make(by, world),
      }),
      body: (userId) => ({ grants: [{ subject: `user:${userId}`, level: 'manage' }] }),
    },
  },
  'GET /access/list': {
    subject: { kind: user, query: (userId) => `subject=user:${userId}`, code: EMPTY },
  },
  'GET /access/explain': {
    id: {
      kind: knowledgeBase,
      query: async (id, by, world) => `user=${await user.make(by, world)}&type=knowledge&id=${id}`,
    },
    user: {
      kind: user,
      query: async (userId, by, world) =>
        `user=${userId}&type=knowledge&id=${await knowledgeBase.make(by, world)}`,
    },
  },
  'GET /agent/agent/:id': { id: { kind: agent } },
  'POST /agent/agent': {
    modelId: { kind: model, body: (modelId) => ({ agentName: fresh('agent'), modelId }) },
    mcpToolIds: {
      kind: serverTool,
      body: agentWith('mcpToolIds'),
      code: 400,
      several: true,
    },
    knowledgeIds: { kind: knowledgeBase, body: agentWith('knowledgeIds'), several: true },
  },
  'PUT /agent/agent': {
    id: { kind: agent, body: (id) => ({ id, agentName: 'New' }) },
    modelId: {
      kind: model,
      body: async (modelId, by, world) => ({ id: await agent.make(by, world), modelId }),
    },
    mcpToolIds: {
      kind: serverTool,
      body: async (ids, by, world) => ({ id: await agent.make(by, world), mcpToolIds: ids }),
      code: 400,
      several: true,
    },
    knowledgeIds: {
      kind: knowledgeBase,
      body: async (ids, by, world) => ({ id: await agent.make(by, world), knowledgeIds: ids }),
      several: true,
    },
  },
  'DELETE /agent/agent/:ids': { ids: { kind: agent, several: true } },

  'GET /mcp/server/:id': { id: { kind: toolServer } },
  'PUT /mcp/server': { id: { kind: toolServer, body: (id) => ({ id, description: 'New' }) } },
  'DELETE /mcp/server/:ids': { ids: { kind: toolServer, several: true } },
  'POST /mcp/server/:id/check': { id: { kind: toolServer } },
  'POST /mcp/account/:serverId/connect': { serverId: { kind: toolServer, body: () => ({}) } },
  'DELETE /mcp/account/:serverId': { serverId: { kind: toolServer } },
  'GET /mcp/server/:id/tool': { id: { kind: toolServer } },
  'PUT /mcp/server/:id/tool': {
    id: { kind: toolServer, body: () => ({ tools: [] }) },
    tools: {
      kind: serverTool,
      body: (id) => ({ tools: [{ id, consent: 'never' }] }),
      path: async (by, world) => ({ id: await toolServer.make(by, world) }),
    },
  },

  'GET /system/info/:id': { id: { kind: knowledgeBase } },
  'PUT /system/info': { id: { kind: knowledgeBase, body: (id) => ({ id, remark: 'New' }) } },
  'DELETE /system/info/:ids': { ids: { kind: knowledgeBase, several: true } },
  'POST /system/info/:id/preview': {
    id: {
      kind: knowledgeBase,
      body: async (_, by, world) => ({ attachmentId: await attachment.make(by, world) }),
    },
    attachmentId: {
      kind: attachment,
      body: (attachmentId) => ({ attachmentId }),
      path: async (by, world) => ({ id: await knowledgeBase.make(by, world) }),
    },
  },

  'GET /system/info/:knowledgeId/testset/list': { knowledgeId: { kind: knowledgeBase } },
  'GET /system/info/:knowledgeId/testset/export': {
    knowledgeId: { kind: knowledgeBase, query: () => 'part=queries' },
  },
  'POST /system/info/:knowledgeId/testset': {
    knowledgeId: {
      kind: knowledgeBase,
      body: async (_, by, world) => ({
        query: 'New',
        expected: [{ docId: await documentName.make(by, world) }],
      }),
    },
  },
  'POST /system/info/:knowledgeId/testset/import': {
    knowledgeId: {
      kind: knowledgeBase,
      body: () => ({ queries: '{"_id": "1", "text": "New"}', qrels: '1\tnote\t1' }),
    },
  },
  'PUT /system/info/:knowledgeId/testset': {
    knowledgeId: {
      kind: knowledgeBase,
      body: async (_, by, world) => ({ id: await testQuery.make(by, world), query: 'New' }),
    },
    id: {
      kind: testQuery,
      body: (id) => ({ id, query: 'New' }),
      path: async (by, world) => ({ knowledgeId: await knowledgeBase.make(by, world) }),
    },
  },
  'DELETE /system/info/:knowledgeId/testset/:ids': {
    knowledgeId: {
      kind: knowledgeBase,
      path: async (by, world) => ({ ids: await testQuery.make(by, world) }),
    },
    ids: {
      kind: testQuery,
      path: async (by, world) => ({ knowledgeId: await knowledgeBase.make(by, world) }),
    },
  },
  'POST /system/info/:knowledgeId/evaluate': {
    knowledgeId: { kind: knowledgeBase, body: () => ({ k: 5 }) },
  },
  'GET /system/info/:knowledgeId/evaluation/list': { knowledgeId: { kind: knowledgeBase } },

  'GET /system/info/:knowledgeId/source': { knowledgeId: { kind: knowledgeBase } },
  'PUT /system/info/:knowledgeId/source': {
    knowledgeId: {
      kind: knowledgeBase,
      body: () => ({ name: 'Site', kind: 'web', address: 'http://127.0.0.1:9/' }),
    },
  },
  'POST /system/info/:knowledgeId/source/run': { knowledgeId: { kind: knowledgeBase } },
  'POST /system/info/:knowledgeId/source/pause': {
    knowledgeId: { kind: knowledgeBase, body: () => ({ paused: true }) },
  },
  'DELETE /system/info/:knowledgeId/source': { knowledgeId: { kind: knowledgeBase } },
  'POST /system/info/:knowledgeId/source/begin': { knowledgeId: { kind: knowledgeBase } },
  'POST /system/info/:knowledgeId/source/complete': {
    knowledgeId: { kind: knowledgeBase, body: () => ({ cursor: NO_CURSOR }) },
  },
  'PUT /system/info/:knowledgeId/source/:externalId': {
    knowledgeId: {
      kind: knowledgeBase,
      path: () => Promise.resolve({ externalId: 'note' }),
      body: () => ({ text: fresh('What the source says ') }),
    },
  },
  'DELETE /system/info/:knowledgeId/source/:externalId': {
    knowledgeId: { kind: knowledgeBase, path: () => Promise.resolve({ externalId: 'note' }) },
  },

  'GET /system/attach/list': {
    knowledgeId: { kind: knowledgeBase, query: (id) => `knowledgeId=${id}`, code: EMPTY },
    docId: { kind: documentName, query: (docId) => `docId=${docId}`, code: EMPTY },
    ossId: { kind: sourceFile, query: (id) => `ossId=${id}`, code: EMPTY },
  },
  'POST /system/attach/export': {
    knowledgeId: { kind: knowledgeBase, body: (knowledgeId) => ({ knowledgeId }), code: EMPTY },
    docId: { kind: documentName, body: (docId) => ({ docId }), code: EMPTY },
    ossId: { kind: sourceFile, body: (ossId) => ({ ossId }), code: EMPTY },
  },
  'GET /system/attach/:id': { id: { kind: attachment } },
  'GET /system/attach/:id/content': { id: { kind: attachment } },
  'POST /system/attach/upload': {
    knowledgeId: { kind: knowledgeBase, body: (knowledgeId) => ({ knowledgeId }) },
  },
  'POST /system/attach': {
    knowledgeId: {
      kind: knowledgeBase,
      body: (knowledgeId) => ({ knowledgeId, name: 'New', content: fresh('New') }),
    },
  },
  'GET /system/attach/metadata/:knowledgeId': { knowledgeId: { kind: knowledgeBase } },
  'PUT /system/attach/:id/metadata': {
    id: { kind: attachment, body: () => ({ metadata: { year: 2026 } }) },
  },
  'PUT /system/attach': { id: { kind: attachment, body: (id) => ({ id, remark: 'New' }) } },
  'POST /system/attach/parse/:id': { id: { kind: attachment } },
  'POST /system/attach/reparse/knowledge/:knowledgeId': { knowledgeId: { kind: knowledgeBase } },
  'POST /system/attach/retry-failed/:knowledgeId': { knowledgeId: { kind: knowledgeBase } },
  'POST /system/attach/:id/cancel': { id: { kind: attachment } },
  'DELETE /system/attach/:ids': { ids: { kind: attachment, several: true } },

  'GET /system/fragment/list': {
    knowledgeId: { kind: knowledgeBase, query: (id) => `knowledgeId=${id}`, code: EMPTY },
    docId: { kind: documentName, query: (docId) => `docId=${docId}`, code: EMPTY },
  },
  'POST /system/fragment/export': {
    knowledgeId: { kind: knowledgeBase, body: (knowledgeId) => ({ knowledgeId }), code: EMPTY },
    docId: { kind: documentName, body: (docId) => ({ docId }), code: EMPTY },
  },
  'GET /system/fragment/:id': { id: { kind: fragment } },
  'POST /system/fragment': {
    docId: { kind: documentName, body: (docId) => ({ docId, content: 'New' }) },
    attachId: { kind: attachment, body: (attachId) => ({ attachId, content: 'New' }) },
  },
  'PUT /system/fragment': { id: { kind: fragment, body: (id) => ({ id, content: 'New' }) } },
  'DELETE /system/fragment/:ids': { ids: { kind: fragment, several: true } },
  'POST /system/fragment/retrieval': {
    knowledgeId: { kind: knowledgeBase, body: (knowledgeId) => ({ knowledgeId, query: 'New' }) },
  },

  'POST /media/image': {
    model: { kind: modelName, body: (name) => ({ model: name, prompt: 'A lake' }), code: 400 },
  },
  'POST /media/speech': {
    model: { kind: modelName, body: (name) => ({ model: name, input: 'Welcome' }), code: 400 },
  },
  'POST /media/transcription': {
    model: { kind: modelName, body: (name) => ({ model: name }), code: 400 },
  },
  'POST /media/video': {
    model: { kind: modelName, body: (name) => ({ model: name, prompt: 'Waves' }), code: 400 },
  },
  'GET /media/video': {
    model: { kind: modelName, query: (name) => `model=${name}&videoId=1`, code: 400 },
  },
  'GET /media/prediction': {
    model: { kind: modelName, query: (name) => `model=${name}&predictionId=1`, code: 400 },
  },
  'GET /media/content': {
    model: { kind: modelName, query: (name) => `model=${name}&predictionId=1`, code: 400 },
  },
  'DELETE /media/task/:ids': { ids: { kind: mediaTask, several: true } },

  'POST /chat/send': {
    sessionId: {
      kind: chatSession,
      body: (sessionId) => ({ model: COMMON_MODEL, content: 'Hello', sessionId }),
    },
    agentId: {
      kind: agent,
      body: (agentId) => ({ model: COMMON_MODEL, content: 'Hello', agentId }),
    },
    files: {
      kind: chatFile,
      several: true,
      body: (files) => ({ model: COMMON_MODEL, content: 'Hello', files }),
    },
    knowledgeId: {
      kind: knowledgeBase,
      body: (knowledgeId) => ({ model: COMMON_MODEL, content: 'Hello', knowledgeId }),
    },
    model: { kind: modelName, body: (name) => ({ model: name, content: 'Hello' }) },
    regenerate: {
      kind: chatMessage,
      body: async (regenerate, by, world) => ({
        ...{ model: COMMON_MODEL, regenerate },
        sessionId: await chatSession.make(by, world),
      }),
    },
    editOf: {
      kind: chatMessage,
      body: async (editOf, by, world) => ({
        ...{ model: COMMON_MODEL, content: 'Hello', editOf },
        sessionId: await chatSession.make(by, world),
      }),
    },
    parentId: {
      kind: chatMessage,
      body: async (parentId, by, world) => ({
        ...{ model: COMMON_MODEL, content: 'Hello', parentId },
        sessionId: await chatSession.make(by, world),
      }),
    },
  },
  'POST /chat/files/:ossId/check': { ossId: { kind: file } },
  'POST /chat/stop/:sessionId': { sessionId: { kind: chatSession } },
  'GET /chat/turns/:turnId/stream': { turnId: { kind: waitingTurn } },
  'POST /chat/turns/:turnId/decisions': {
    turnId: { kind: waitingTurn, body: decisionAbout, code: 409 },
  },
  'POST /chat/turns/:turnId/effects/:callId/resolution': {
    turnId: {
      kind: waitingTurn,
      body: () => ({ resolution: 'EXECUTED' }),
      path: (_by, _world, turnId) => Promise.resolve({ callId: callsOf(turnId).uncertain }),
    },
    callId: {
      kind: uncertainCall,
      body: () => ({ resolution: 'EXECUTED' }),
      path: (_by, _world, callId) => Promise.resolve({ turnId: turnOf(callId) }),
    },
  },
  'GET /v1/models/:id': { id: { kind: modelName } },
  'POST /v1/chat/completions': {
    model: { kind: modelName, body: (name) => ({ model: name, messages: HELLO }) },
    // The model names an agent.
    messages: { kind: agent, body: (id) => ({ model: `agent-${id}`, messages: HELLO }) },
  },
  'POST /v1/messages': {
    model: {
      kind: modelName,
      body: (name) => ({ model: name, max_tokens: 9, messages: HELLO }),
    },
    messages: {
      kind: agent,
      body: (id) => ({ model: `agent-${id}`, max_tokens: 9, messages: HELLO }),
    },
  },
  'POST /v1/messages/count_tokens': {
    model: { kind: modelName, body: (name) => ({ model: name, messages: HELLO }) },
    messages: { kind: agent, body: (id) => ({ model: `agent-${id}`, messages: HELLO }) },
  },
  'POST /v1/responses': {
    model: { kind: modelName, body: (name) => ({ model: name, input: 'Hello' }) },
    input: { kind: agent, body: (id) => ({ model: `agent-${id}`, input: 'Hello' }) },
    previous_response_id: {
      kind: storedResponse,
      body: (id) => ({ model: COMMON_MODEL, input: 'Hello', previous_response_id: id }),
      code: 400,
    },
    conversation: {
      kind: responseConversation,
      body: (id) => ({ model: COMMON_MODEL, input: 'Hello', conversation: id }),
    },
  },
  'GET /v1/responses/:id': { id: { kind: storedResponse } },
  'DELETE /v1/responses/:id': { id: { kind: storedResponse } },
  'GET /v1/responses/:id/input_items': { id: { kind: storedResponse } },
  'POST /v1/responses/input_tokens': {
    model: { kind: modelName, body: (name) => ({ model: name, input: 'Hello' }) },
    previous_response_id: {
      kind: storedResponse,
      body: (id) => ({ model: COMMON_MODEL, input: 'Hello', previous_response_id: id }),
      code: 400,
    },
  },
  'POST /v1/responses/:id/cancel': { id: { kind: storedResponse } },
  'GET /v1/files/:id': { id: { kind: apiFile } },
  'DELETE /v1/files/:id': { id: { kind: apiFile } },
  'GET /v1/files/:id/content': { id: { kind: apiFile } },
  'POST /v1/batches': {
    input_file_id: {
      kind: apiFile,
      body: (id) => ({
        ...{ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
      }),
      code: 400,
    },
  },
  'GET /v1/batches/:id': { id: { kind: apiBatch } },
  'POST /v1/batches/:id/cancel': { id: { kind: apiBatch } },
  'GET /v1/messages/batches/:id': { id: { kind: messageBatch } },
  'POST /v1/messages/batches/:id/cancel': { id: { kind: messageBatch } },
  'DELETE /v1/messages/batches/:id': { id: { kind: messageBatch } },
  'GET /v1/messages/batches/:id/results': { id: { kind: messageBatch } },
  'GET /v1/conversations/:id': { id: { kind: responseConversation } },
  'POST /v1/conversations/:id': {
    id: { kind: responseConversation, body: () => ({ metadata: {} }) },
  },
  'DELETE /v1/conversations/:id': { id: { kind: responseConversation } },
  'GET /v1/conversations/:id/items': { id: { kind: responseConversation } },
  'POST /v1/conversations/:id/items': {
    id: { kind: responseConversation, body: () => ({ items: [{ role: 'user', content: 'x' }] }) },
  },
  'GET /v1/conversations/:id/items/:itemId': itemReferences,
  'DELETE /v1/conversations/:id/items/:itemId': itemReferences,
  'GET /v1beta/models/:model': { model: { kind: modelName } },
  'POST /v1beta/models/:call': {
    call: {
      kind: modelName,
      path: (_by, _world, id) => Promise.resolve({ call: `${id}:generateContent` }),
      body: () => ({ contents: [{ parts: [{ text: 'Hello' }] }] }),
    },
  },
  'POST /v1/embeddings': {
    model: { kind: modelName, body: (name) => ({ model: name, input: 'Hello' }) },
  },
  'POST /v1/rerank': {
    model: {
      kind: modelName,
      body: (name) => ({ model: name, query: 'Hello', documents: ['Hello'] }),
    },
  },
  'POST /v1/images/generations': {
    model: { kind: modelName, body: (name) => ({ model: name, prompt: 'A house' }) },
  },
  'POST /v1/completions': {
    model: { kind: modelName, body: (name) => ({ model: name, prompt: 'Hello' }) },
  },
  'POST /v1/moderations': {
    model: { kind: modelName, body: (name) => ({ model: name, input: 'Hello' }) },
  },
  'POST /v1/images/edits': {
    model: { kind: modelName, body: (name) => ({ model: name, prompt: 'A house' }) },
  },
  'POST /v1/audio/speech': {
    model: { kind: modelName, body: (name) => ({ model: name, input: 'Hello' }) },
  },
  'POST /v1/audio/transcriptions': {
    model: { kind: modelName, body: (name) => ({ model: name }) },
  },
  'POST /v1/audio/translations': {
    model: { kind: modelName, body: (name) => ({ model: name }) },
  },
  'GET /chat/feedback/list': {
    agentId: { kind: agent, query: (id) => `agentId=${id}`, code: EMPTY },
  },
  'POST /chat/feedback/export': {
    agentId: { kind: agent, body: (agentId) => ({ agentId }), code: EMPTY },
  },
  'PUT /chat/feedback/:messageId': {
    messageId: { kind: chatAnswer, body: () => ({ vote: 'up' }) },
  },
  'DELETE /chat/feedback/:messageId': { messageId: { kind: chatAnswer } },
  'POST /chat/feedback/:id/testQuery': {
    id: {
      kind: feedback,
      body: async (_, by, world) => ({ knowledgeId: await knowledgeBase.make(by, world) }),
    },
    knowledgeId: {
      kind: knowledgeBase,
      body: (knowledgeId) => ({ knowledgeId }),
      path: async (by, world) => ({ id: await feedback.make(by, world) }),
    },
  },
  'GET /system/session/:id': { id: { kind: chatSession } },
  'PUT /system/session': { id: { kind: chatSession, body: (id) => ({ id, sessionTitle: 'New' }) } },
  'POST /system/session/branch': {
    sessionId: {
      kind: chatSession,
      body: async (sessionId, by, world) => ({
        sessionId,
        messageId: await chatMessage.make(by, world),
      }),
    },
    messageId: {
      kind: chatMessage,
      body: async (messageId, by, world) => ({
        messageId,
        sessionId: await chatSession.make(by, world),
      }),
    },
  },
  'DELETE /system/session/:ids': { ids: { kind: chatSession, several: true } },
  'GET /system/message/list': {
    sessionId: { kind: chatSession, query: (id) => `sessionId=${id}`, code: EMPTY },
  },
  'POST /system/message/export': {
    sessionId: { kind: chatSession, body: (sessionId) => ({ sessionId }), code: EMPTY },
  },
  'GET /system/message/:id': { id: { kind: chatMessage } },
  'POST /system/message': {
    sessionId: {
      kind: chatSession,
      body: (sessionId) => ({ sessionId, role: 'user', content: 'New' }),
    },
  },
  'PUT /system/message': { id: { kind: chatMessage, body: (id) => ({ id, content: 'New' }) } },
  'DELETE /system/message/:ids': { ids: { kind: chatMessage, several: true } },

  'GET /system/role/authUser/allocatedList': {
    roleId: { kind: role, query: (id) => `roleId=${id}` },
  },
  'GET /system/role/authUser/unallocatedList': {
    roleId: { kind: role, query: (id) => `roleId=${id}` },
  },
  'GET /system/role/optionselect': {
    roleIds: { kind: role, query: (ids) => `roleIds=${ids}`, several: true, code: EMPTY },
  },
  'GET /system/role/:roleId': { roleId: { kind: role } },
  'GET /system/role/deptTree/:roleId': { roleId: { kind: role } },
  'GET /system/menu/roleMenuTreeselect/:roleId': { roleId: { kind: role } },
  'PUT /system/role/dataScope': {
    roleId: { kind: role, body: (roleId) => ({ roleId, dataScope: '1' }) },
  },
  'PUT /system/role': { roleId: { kind: role, body: (roleId) => ({ roleId, roleName: 'New' }) } },
  'PUT /system/role/changeStatus': {
    roleId: { kind: role, body: (roleId) => ({ roleId, status: '1' }) },
  },
  'PUT /system/role/authUser/cancel': {
    roleId: {
      kind: role,
      body: async (roleId, by, world) => ({ roleId, userId: await user.make(by, world) }),
    },
    userId: {
      kind: user,
      body: async (userId, by, world) => ({ userId, roleId: await role.make(by, world) }),
    },
  },
  'PUT /system/role/authUser/cancelAll': {
    roleId: {
      kind: role,
      query: async (id, by, world) => `roleId=${id}&userIds=${await user.make(by, world)}`,
    },
    userIds: {
      kind: user,
      query: async (ids, by, world) => `roleId=${await role.make(by, world)}&userIds=${ids}`,
      several: true,
    },
  },
  'PUT /system/role/authUser/selectAll': {
    roleId: {
      kind: role,
      query: async (id, by, world) => `roleId=${id}&userIds=${await user.make(by, world)}`,
    },
    userIds: {
      kind: user,
      query: async (ids, by, world) => `roleId=${await role.make(by, world)}&userIds=${ids}`,
      several: true,
    },
  },
  'DELETE /system/role/:roleIds': { roleIds: { kind: role, several: true } },

  'GET /system/user/optionselect': {
    userIds: { kind: user, query: (ids) => `userIds=${ids}`, several: true, code: EMPTY },
  },
  'GET /system/user/authRole/:userId': { userId: { kind: user } },
  'GET /system/user/:userId': { userId: { kind: user } },
  'POST /system/user': {
    roleIds: {
      kind: role,
      body: (roleIds) => ({ userName: fresh('new'), password: PASSWORD, roleIds }),
      several: true,
    },
  },
  'POST /system/user/service': {
    roleIds: {
      kind: role,
      body: (roleIds) => ({ userName: fresh('new'), roleIds }),
      several: true,
    },
  },
  'PUT /system/user': {
    userId: { kind: user, body: (userId) => ({ userId, nickName: 'New' }) },
    roleIds: {
      kind: role,
      body: async (roleIds, by, world) => ({ userId: await user.make(by, world), roleIds }),
      several: true,
    },
  },
  'PUT /system/user/resetPwd': {
    userId: { kind: user, body: (userId) => ({ userId, password: 'another-one-2' }) },
  },
  'PUT /system/user/changeStatus': {
    userId: { kind: user, body: (userId) => ({ userId, status: '1' }) },
  },
  'PUT /system/user/disconnect': { userId: { kind: user, body: (userId) => ({ userId }) } },
  'PUT /system/user/authRole': {
    userId: {
      kind: user,
      query: async (id, by, world) => `userId=${id}&roleIds=${await role.make(by, world)}`,
    },
    roleIds: {
      kind: role,
      query: async (ids, by, world) => `userId=${await user.make(by, world)}&roleIds=${ids}`,
      several: true,
    },
  },
  'DELETE /system/user/:userIds': { userIds: { kind: user, several: true } },
  'DELETE /system/user/:userId/second-factor': { userId: { kind: user } },

  'GET /system/client/list': {
    clientId: { kind: clientNumber, query: (id) => `clientId=${id}` },
  },
  'GET /system/client/:id': { id: { kind: client } },
  'POST /system/client/export': {
    clientId: { kind: clientNumber, body: (clientId) => ({ clientId }) },
  },
  'PUT /system/client': { id: { kind: client, body: (id) => ({ id, deviceType: 'new' }) } },
  'PUT /system/client/changeStatus': {
    id: { kind: client, body: (id) => ({ id, status: '1' }) },
    clientId: { kind: clientNumber, body: (clientId) => ({ clientId, status: '1' }) },
  },
  'DELETE /system/client/:ids': { ids: { kind: client, several: true } },

  'GET /system/tenant/list': {
    tenantId: { kind: tenantNumber, query: (id) => `tenantId=${id}` },
  },
  'GET /system/tenant/dynamic/:tenantId': { tenantId: { kind: tenantNumber } },
  'GET /system/tenant/:id': { id: { kind: tenant } },
  'POST /system/tenant/export': {
    tenantId: { kind: tenantNumber, body: (tenantId) => ({ tenantId }) },
  },
  'PUT /system/tenant': { id: { kind: tenant, body: (id) => ({ id, companyName: 'New' }) } },
  'PUT /system/tenant/changeStatus': {
    id: { kind: tenant, body: (id) => ({ id, status: '1' }) },
  },
  'DELETE /system/tenant/:ids': { ids: { kind: tenant, several: true } },

  ...harnessReferences,
};

/** Parameters with the name of a reference that are none, each with the reason. */
export const noReferences: Record<string, string> = {
  'GET /mcp/account/:serverId/callback serverId':
    'Must be that of the state, which is not guessed.',
  'GET /mcp/account/:serverId/client serverId':
    'Answers addresses with this number, whatever it is.',
  'POST /mcp/server account': 'Whose account is used: one of three words.',
  'PUT /mcp/server account': 'The same.',
  'POST /mcp/server clientId': 'What an authorization server calls this service.',
  'PUT /mcp/server clientId': 'The same.',
  'POST /mcp id': 'That of the message, which its answer repeats.',
  'POST /mcp/gateway id': 'The same.',
  'POST /coding/harness/sessions/:sessionId/runs model':
    'Found among the models of the own tenant, as that of the session, which is tried with others.',
  'GET /access/:resourceType/:id resourceType': 'One of four words.',
  'PUT /access/:resourceType/:id resourceType': 'The same.',
  'GET /system/group/list source': 'Where a group comes from: one of three words.',
  'PUT /system/info/:knowledgeId/source/:externalId externalId':
    'The id that the source gives; compared within a source of the base in the path.',
  'DELETE /system/info/:knowledgeId/source/:externalId externalId': 'The same.',
  'DELETE /system/info/:knowledgeId/source source': 'A name within the base in the path.',
  'DELETE /system/info/:knowledgeId/source/:externalId source': 'The same.',
  'POST /system/info/:knowledgeId/source/begin source': 'The same.',
  'POST /system/info/:knowledgeId/source/complete source': 'The same.',
  'POST /system/info/:knowledgeId/source/pause source': 'The same.',
  'POST /system/info/:knowledgeId/source/run source': 'The same.',
  'PUT /system/info/:knowledgeId/source/:externalId source': 'The same.',
  'GET /auth/sso/providers tenantId':
    'Says where one wants to sign in; the names of its providers are shown to all.',
  'GET /auth/sso/:provider/start provider':
    'Leads to the sign-in page of a provider; nothing is shown but where that is.',
  'GET /auth/sso/:provider/start clientId': 'As at the login.',
  'GET /auth/sso/:provider/callback provider': 'Must be that of the state, which is not guessed.',
  'POST /auth/sso/:provider/connect provider':
    'As at the start; that of another tenant is refused.',
  'POST /auth/sso/:provider/disconnect provider': 'Only the own connection is ended.',
  'POST /auth/sso/exchange clientId': 'As at the login.',
  'POST /auth/sso/:provider/backchannel-logout provider':
    'Only what this provider has signed ends its sign-ins.',
  'POST /system/user/profile/second-factor/remove id': 'Only an own factor is removed.',
  'GET /scim/v2/ResourceTypes/:resourceType resourceType': 'A name of a fixed document.',
  'GET /scim/v2/Schemas/:urn urn': 'The same.',
  'POST /scim/v2/Users externalId': 'The id that the directory gives.',
  'PUT /scim/v2/Users/:id externalId': 'The same.',
  'POST /scim/v2/Groups externalId': 'The same.',
  'PUT /scim/v2/Groups/:id externalId': 'The same.',
  'POST /system/sso clientId': 'What the provider calls this service.',
  'PUT /system/sso clientId': 'The same.',
  'POST /auth/login clientId': 'Says which app asks; known to everybody who has the app.',
  'POST /auth/login tenantId':
    'Says where one wants to sign in; nothing is shown before the password fits.',
  'POST /auth/register clientId': 'As at the login.',
  'POST /auth/register tenantId': 'Says where one wants to register, where that is allowed.',
  'POST /system/dict/type dictType': 'The name that the new type gets, in the own tenant.',
  'PUT /system/dict/type dictType': 'The name that the type gets, in the own tenant.',
  'POST /system/role menuIds': 'Numbers of permissions, the same for all tenants.',
  'PUT /system/role menuIds': 'The same.',
  'GET /system/config/configKey/:configKey configKey': 'A name of a fixed value.',
  'GET /monitor/logininfor/unlock/:account account':
    'Looked for among the users of the own tenant.',
  'GET /auth/binding/:source source': 'Not read; always refused.',
  'DELETE /monitor/operlog/:entries entries': 'Not read; always refused.',
  'DELETE /monitor/logininfor/:entries entries': 'The same.',
  'POST /system/tenant tenantId': 'The number that the new tenant gets.',
  'GET /system/info/:knowledgeId/testset/list queryId': 'Looks for that name in this test set.',
  'POST /system/info/:knowledgeId/testset queryId': 'The name that the query gets in its test set.',
  'POST /system/session conversationId': 'A text of the client’s own, which is kept as it is.',
  'PUT /system/session conversationId': 'A text of the client’s own, which is kept as it is.',
  'GET /system/session/list conversationId': 'Looks for that text among the own sessions.',
  'POST /system/session/export conversationId': 'As in the list.',
  'GET /resource/oss/shared/:fileToken/:shownName fileToken':
    'Signed with the key of the installation; one that is not is answered like a missing file.',
  'GET /resource/oss/shared/:fileToken/:shownName shownName': 'Not read; the token names the file.',
  'GET /media/video videoId':
    'Of a task at the model’s service, which whoever has the model may ask.',
  'GET /media/prediction predictionId': 'The same.',
  'GET /media/content predictionId': 'The same.',
  ...noHarnessReferences,
};
