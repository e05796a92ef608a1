import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import ts from 'typescript';
import { describeApi } from '../../src/app.js';
import { loadConfig } from '../../src/platform/config/index.js';
import { permissionsAt } from '../../src/platform/access/index.js';
import { Plinth } from '../support/plinth.js';
import {
  documentedFields,
  nestedFields,
  pathParameters,
  routesInOrder,
  routeTable,
  shadowedRoutes,
  validatedFields,
} from '../support/route-table.js';
import type { Route } from '../support/route-table.js';

/** Routes that anybody may call, each with the reason why nothing is lost by it. */
const publicRoutes: Record<string, string> = {
  'GET /': 'A greeting, the same for all.',
  'GET /health/live': 'Probes have no login; says only that the process runs.',
  'GET /health/ready': 'Probes have no login; says up or down, without addresses and causes.',
  'GET /metrics': 'Scraped without a login; its labels hold no data of a tenant.',
  'POST /auth/login': 'This is how one signs in; locked after failures.',
  'POST /auth/login/second-factor': 'The second step of signing in; locked after failures.',
  'POST /auth/login/second-factor/enrol':
    'The same for a user who must enrol; needs the challenge of a right password.',
  'POST /auth/login/second-factor/confirm': 'The same.',
  'POST /auth/logout': 'Ends the sign-in that is sent along, and never fails for want of one.',
  'POST /auth/register': 'Only where a tenant allows it; limited per address.',
  'GET /auth/code': 'The captcha before signing in; limited per address.',
  'GET /auth/tenant/list': 'The choice before signing in: names of tenants that may be chosen.',
  'GET /auth/sso/providers':
    'The choice before signing in: names of the providers of one tenant; limited per address.',
  'GET /auth/sso/:provider/start': 'Leads to the provider, which signs in; limited per address.',
  'GET /auth/sso/:provider/callback':
    'Answers once to the browser that began the sign-in, with what the provider has signed.',
  'POST /auth/sso/exchange': 'This is how one signs in: a code for one use, in the same browser.',
  'POST /auth/sso/logout': 'Ends the sign-in that is sent along, and never fails for want of one.',
  'POST /auth/sso/:provider/backchannel-logout':
    'Only what the provider has signed ends a sign-in.',
  'GET /mcp/account/:serverId/callback':
    'Answers once to the browser that began, with what the authorization server has answered.',
  'GET /mcp/account/:serverId/client': 'How the service introduces itself; the same for all.',
  'GET /resource/email/code': 'Asked before there is a user; always refused, without a look at it.',
  'GET /user/qrcode': 'The same.',
  'GET /auth/binding/:source': 'The same.',
  'GET /resource/oss/shared/:fileToken/:shownName':
    'Opens the one file that the signed address names; images show addresses without a sign-in.',
  'GET /.well-known/oauth-protected-resource': 'Where POST /mcp is; the same for all.',
  'GET /.well-known/oauth-protected-resource/mcp': 'The same.',
  'GET /.well-known/oauth-protected-resource/mcp/gateway': 'The same.',
  'GET /.well-known/oauth-authorization-server': 'Where to connect with it; the same for all.',
  'POST /oauth/register':
    'Stores nothing: the client id is what was registered; limited per address.',
  'POST /oauth/token':
    'Only a code or refresh token of 256 random bits is answered; refusals limited.',
  'POST /oauth/revoke': 'Ends what the token allows, and answers nothing.',
  'GET /resource/sse/close':
    'Closes the streams of the caller that is sent along, and never fails.',
};

/** Routes that any signed-in user may call, each with the reason why a permission would only be in the way. */
const loginOnlyRoutes: Record<string, string> = {
  'GET /system/user/getInfo': 'Who am I, with the own permissions: every client asks it first.',
  'GET /system/menu/getRouters': 'The pages one may see, made from the own permissions.',
  'GET /system/config/configKey/:configKey': 'Fixed values, the same for all.',
  'GET /system/user/profile': 'The own record.',
  'PUT /system/user/profile': 'The own record; neither name, status nor roles can be changed here.',
  'POST /system/user/profile/avatar': 'The own image.',
  'DELETE /system/user/profile/avatar': 'The own image.',
  'GET /system/user/profile/retention': 'How long the own records are kept.',
  'PUT /system/user/profile/retention': 'The own records, for a shorter time than the tenant says.',
  'PUT /system/user/profile/updatePwd': 'The own password, against the old one.',
  'GET /system/user/profile/second-factor': 'The own second factors.',
  'POST /system/user/profile/second-factor': 'The same, against the password or a code.',
  'POST /system/user/profile/second-factor/confirm': 'The same, by its first code.',
  'POST /system/user/profile/second-factor/remove': 'The same, against the password or a code.',
  'POST /system/user/profile/second-factor/recovery': 'The same.',
  'GET /monitor/online': 'The own sign-ins.',
  'GET /system/social/list': 'Nobody has one.',
  'DELETE /monitor/operlog/:entries': 'Always refused.',
  'DELETE /monitor/logininfor/:entries': 'Always refused.',
  'DELETE /monitor/online/myself/:tokenId': 'One of the own sign-ins.',
  'GET /resource/sse': 'The notices to oneself.',
  'GET /system/dict/data/type/:dictType':
    'Labels of codes, which every form of every client shows.',
  'GET /system/model/providerOptions': 'Codes of adapters: the same for all tenants.',
  'GET /agent/agent/agentOptions': 'The enabled agents that the caller may use; no prompts.',
  'GET /access/list':
    'What the own subjects are granted; of others only records that the caller manages.',
  'GET /access/explain': 'The own access; of others only to records that the caller manages.',
  'GET /workflow/public/search': 'Empty until workflows exist.',
  'POST /media/image': 'What end users are here for; limited per user, models are checked inside.',
  'POST /media/speech': 'As images.',
  'POST /media/transcription': 'As images.',
  'POST /media/video': 'As images.',
  'GET /media/video': 'How a task is getting on, for whoever knows its id and has its model.',
  'GET /media/prediction': 'The same.',
  'GET /media/content': 'The same, and what the task has made.',
  'GET /media/task/list': 'The own tasks.',
  'DELETE /media/task/:ids': 'The own tasks.',
  'POST /chat/send': 'What end users are here for; sessions and models are checked inside.',
  'POST /chat/files/:ossId/check': 'An own upload.',
  'POST /chat/stop/:sessionId': 'The own session.',
  'GET /chat/turns/:turnId/stream': 'An own turn.',
  'POST /chat/turns/:turnId/decisions': 'An own turn; a program cannot consent.',
  'POST /chat/turns/:turnId/effects/:callId/resolution': 'A call of an own turn.',
  'GET /v1/models': 'What the caller may name below /v1: names of models and ids of agents.',
  'GET /v1/models/:id': 'One of them.',
  'POST /v1/chat/completions':
    'As /chat/send, without a session; models and agents are checked inside.',
  'POST /v1/messages': 'The same in another protocol.',
  'POST /v1/messages/count_tokens': 'The same, without an answer.',
  'POST /v1/responses': 'The same in another protocol; what is stored is the own.',
  'GET /v1/responses/:id': 'The own response.',
  'DELETE /v1/responses/:id': 'The own response.',
  'GET /v1/responses/:id/input_items': 'The own response.',
  'POST /v1/responses/input_tokens': 'The same as an answer, without one.',
  'POST /v1/responses/:id/cancel': 'The own response.',
  'POST /v1/conversations': 'A conversation of the own responses.',
  'GET /v1/conversations/:id': 'The own conversation.',
  'POST /v1/conversations/:id': 'The own conversation.',
  'DELETE /v1/conversations/:id': 'The own conversation.',
  'GET /v1/conversations/:id/items': 'The own conversation.',
  'POST /v1/conversations/:id/items': 'The own conversation.',
  'GET /v1/conversations/:id/items/:itemId': 'The own conversation.',
  'DELETE /v1/conversations/:id/items/:itemId': 'The own conversation.',
  'POST /v1/files': 'A file of the own.',
  'GET /v1/files': 'The own files.',
  'GET /v1/files/:id': 'The own file.',
  'DELETE /v1/files/:id': 'The own file.',
  'GET /v1/files/:id/content': 'The own file.',
  'POST /v1/batches': 'Requests as below /v1, each checked when it is answered.',
  'GET /v1/batches': 'The own batches.',
  'GET /v1/batches/:id': 'The own batch.',
  'POST /v1/batches/:id/cancel': 'The own batch.',
  'POST /v1/messages/batches': 'The same in another protocol.',
  'GET /v1/messages/batches': 'The own batches.',
  'GET /v1/messages/batches/:id': 'The own batch.',
  'POST /v1/messages/batches/:id/cancel': 'The own batch.',
  'DELETE /v1/messages/batches/:id': 'The own batch.',
  'GET /v1/messages/batches/:id/results': 'The own batch.',
  'POST /v1/embeddings': 'The same for embedding models.',
  'GET /v1beta/models': 'As /v1/models.',
  'GET /v1beta/models/:model': 'One of them.',
  'POST /v1beta/models/:call': 'As /v1/chat/completions, in another protocol.',
  'POST /v1/rerank': 'The same for rerank models.',
  'POST /v1/images/generations': 'As /media/image.',
  'POST /v1/completions': 'As /v1/chat/completions, for texts.',
  'POST /v1/moderations': 'As /v1/rerank for moderation models.',
  'POST /v1/images/edits': 'As /media/image.',
  'POST /v1/audio/speech': 'As /media/speech.',
  'POST /v1/audio/transcriptions': 'As /media/transcription.',
  'POST /v1/audio/translations': 'The same in English.',
  'GET /auth/sso/connections': 'The own connections with the providers of the tenant.',
  'POST /auth/sso/:provider/connect': 'Connects oneself, with what the provider has signed.',
  'POST /auth/sso/:provider/disconnect': 'Ends an own connection.',
  'GET /mcp/account/all': 'The own accounts, and those of tool servers that one may change.',
  'POST /mcp/account/:serverId/connect':
    'The own account of a tool server that one may use, or that of one that one may change.',
  'DELETE /mcp/account/:serverId': 'The same.',
  'GET /monitor/usage/own': 'The own calls of models.',
  'GET /monitor/usage/own/export': 'The same.',
  'POST /mcp/gateway': 'Grants decide on the tool servers.',
  'POST /mcp': 'Each tool has the permission of its route, and is not there without it.',
  'PUT /chat/feedback/:messageId': 'A vote on an own answer.',
  'DELETE /chat/feedback/:messageId': 'The own vote.',
};

/** Routes of the list above that an API key may call, and the permission that it needs for them. All others refuse keys. */
const routesOfKeys: Record<string, string> = {
  'POST /v1/files': 'chat:chat:use',
  'GET /v1/files': 'chat:chat:use',
  'GET /v1/files/:id': 'chat:chat:use',
  'DELETE /v1/files/:id': 'chat:chat:use',
  'GET /v1/files/:id/content': 'chat:chat:use',
  'POST /v1/batches': 'chat:chat:use',
  'GET /v1/batches': 'chat:chat:use',
  'GET /v1/batches/:id': 'chat:chat:use',
  'POST /v1/batches/:id/cancel': 'chat:chat:use',
  'POST /v1/messages/batches': 'chat:chat:use',
  'GET /v1/messages/batches': 'chat:chat:use',
  'GET /v1/messages/batches/:id': 'chat:chat:use',
  'POST /v1/messages/batches/:id/cancel': 'chat:chat:use',
  'DELETE /v1/messages/batches/:id': 'chat:chat:use',
  'GET /v1/messages/batches/:id/results': 'chat:chat:use',
  'GET /system/user/getInfo': 'any',
  'GET /system/model/providerOptions': 'any',
  'POST /mcp': 'any',
  'POST /mcp/gateway': 'mcp:tool:use',
  'GET /agent/agent/agentOptions': 'chat:chat:use',
  'GET /workflow/public/search': 'chat:chat:use',
  'POST /media/image': 'media:media:use',
  'POST /media/speech': 'media:media:use',
  'POST /media/transcription': 'media:media:use',
  'POST /media/video': 'media:media:use',
  'GET /media/video': 'media:media:use',
  'GET /media/prediction': 'media:media:use',
  'GET /media/content': 'media:media:use',
  'GET /media/task/list': 'media:media:use',
  'DELETE /media/task/:ids': 'media:media:use',
  'POST /chat/send': 'chat:chat:use',
  'POST /chat/files/:ossId/check': 'chat:chat:use',
  'POST /chat/stop/:sessionId': 'chat:chat:use',
  'GET /chat/turns/:turnId/stream': 'chat:chat:use',
  'GET /monitor/usage/own': 'any',
  'GET /monitor/usage/own/export': 'any',
  'GET /v1/models': 'any',
  'GET /v1/models/:id': 'any',
  'POST /v1/chat/completions': 'chat:chat:use',
  'POST /v1/messages': 'chat:chat:use',
  'POST /v1/messages/count_tokens': 'chat:chat:use',
  'POST /v1/responses': 'chat:chat:use',
  'GET /v1/responses/:id': 'chat:chat:use',
  'DELETE /v1/responses/:id': 'chat:chat:use',
  'GET /v1/responses/:id/input_items': 'chat:chat:use',
  'POST /v1/responses/input_tokens': 'chat:chat:use',
  'POST /v1/responses/:id/cancel': 'chat:chat:use',
  'POST /v1/conversations': 'chat:chat:use',
  'GET /v1/conversations/:id': 'chat:chat:use',
  'POST /v1/conversations/:id': 'chat:chat:use',
  'DELETE /v1/conversations/:id': 'chat:chat:use',
  'GET /v1/conversations/:id/items': 'chat:chat:use',
  'POST /v1/conversations/:id/items': 'chat:chat:use',
  'GET /v1/conversations/:id/items/:itemId': 'chat:chat:use',
  'DELETE /v1/conversations/:id/items/:itemId': 'chat:chat:use',
  'POST /v1/completions': 'chat:chat:use',
  'POST /v1/moderations': 'chat:chat:use',
  'POST /v1/images/edits': 'media:media:use',
  'POST /v1/audio/transcriptions': 'media:media:use',
  'POST /v1/audio/translations': 'media:media:use',
  'POST /v1/embeddings': 'chat:chat:use',
  'GET /v1beta/models': 'any',
  'GET /v1beta/models/:model': 'any',
  'POST /v1beta/models/:call': 'chat:chat:use',
  'POST /v1/rerank': 'chat:chat:use',
  'POST /v1/images/generations': 'media:media:use',
  'POST /v1/audio/speech': 'media:media:use',
  'PUT /chat/feedback/:messageId': 'chat:chat:use',
  'DELETE /chat/feedback/:messageId': 'chat:chat:use',
};

/** The routes of the harness where a person decides; all others of its routes ask for coding:harness:use. */
const approvingRoutes = [
  'DELETE /coding/harness/sessions/:sessionId/grants/:grantId',
  'POST /coding/harness/sessions/:sessionId/runs/:runId/approvals/:approvalId/resolve',
  'POST /coding/harness/sessions/:sessionId/runs/:runId/effects/:toolCallId/resolution',
  'POST /coding/harness/sessions/:sessionId/runs/:runId/plan/approve',
];

/** Routes whose failures have data of their own. */
const routesWithFailureData = [
  'POST /auth/login',
  'POST /auth/login/second-factor',
  'POST /auth/login/second-factor/confirm',
  'POST /system/attach/upload',
  'POST /system/user/importData',
  'POST /system/user/profile/second-factor/confirm',
];

/** What the method of a route says about the permission it asks for. */
const actionsOfMethods: Record<string, RegExp> = {
  GET: /:(list|query|download|export|use|grant|administer)$/,
  POST: /:(add|upload|test|edit|list|query|export|import)$/,
  PUT: /:(edit|resetPwd|hold|grant|administer)$/,
  DELETE: /:(remove|edit|forceLogout|hold)$/,
};

/** Fields that are objects with fields of their own; a new one needs a look at what ids it may carry. */
const knownNestedFields = [
  'AuditListQuery.params',
  // Tools of the server in the path, or 404.
  'ChangeServerToolsBody.tools',
  // Roles of the tenant: whoever names them needs their permissions.
  'ChangedSsoProviderDto.roleMapping',
  'CreateModelBody.contextTiers',
  'CreateModelBody.keys',
  'CreateModelBody.serviceTierFactors',
  'CreateRunBody.budget',
  'CreateRunBody.images',
  // Documents and fragments of the knowledge base in the path, or refused.
  'CreateTestQueryBody.expected',
  'DecisionsBody.decisions',
  'FeedbackListQuery.params',
  // A session and a run of the caller each, tried as runs.sessionId and runs.runId.
  'FollowRunsBody.runs',
  'GroupListQuery.params',
  'NewSsoProviderDto.roleMapping',
  'OperationLogQuery.params',
  'OwnRetentionBody.rules',
  // Subjects of the tenant, tried as grants.subject.
  'ReplaceGrantsBody.grants',
  'RetentionBody.rules',
  'RoleListQuery.params',
  'SignInLogQuery.params',
  'StoredFileListQuery.params',
  'UpdateModelBody.contextTiers',
  'UpdateModelBody.keys',
  'UpdateModelBody.serviceTierFactors',
  'UpdateTestQueryBody.expected',
  'UserListQuery.params',
];

const source = fileURLToPath(new URL('../../src', import.meta.url));
let plinth: Plinth;
let routes: Route[];

beforeAll(async () => {
  plinth = await Plinth.start();
  routes = routeTable(plinth.app);
});

afterAll(() => plinth.stop());

function keysOf(kind: string): string[] {
  return routes.filter(({ rule }) => rule?.kind === kind).map(({ key }) => key);
}

describe('every route', () => {
  it('is one of a controller, but for the documentation', () => {
    const known = new Set(routes.map(({ key }) => key));
    const outside = routesInOrder(plinth.app).filter(
      (key) => !known.has(key) && !/^GET \/docs(\/|$)/.test(key),
    );

    expect(outside).toEqual([]);
    expect(routes.length).toBeGreaterThan(90);
    expect(known.size).toBe(routes.length);
  });

  it('says who may call it', () => {
    expect(routes.filter(({ rule }) => rule === undefined).map(({ key }) => key)).toEqual([]);
  });

  it('stands on the reviewed list when anybody may call it', () => {
    expect(keysOf('public').sort()).toEqual(Object.keys(publicRoutes).sort());
  });

  it('stands on the reviewed list when any signed-in user may call it', () => {
    expect(keysOf('login').sort()).toEqual(Object.keys(loginOnlyRoutes).sort());
  });

  it('takes an API key only as far as the key may, and for nothing of the account', () => {
    const taking = routes.flatMap(({ key, rule }) =>
      rule?.kind === 'login' && rule.apiKey !== undefined ? [[key, rule.apiKey]] : [],
    );

    expect(Object.fromEntries(taking)).toEqual(routesOfKeys);
  });

  it('takes a token from the query only where a browser opens the address by itself', () => {
    const fromQuery = routes.filter(
      ({ rule }) => rule && 'tokenInQuery' in rule && rule.tokenInQuery,
    );

    expect(fromQuery.map(({ key }) => key)).toEqual([
      'GET /resource/oss/download/:id',
      'GET /resource/sse',
      'GET /system/attach/:id/content',
    ]);
  });
});

describe('every permission that a route asks for', () => {
  it('is in the catalogue and fits path and method', () => {
    const unfit = routes.flatMap(({ key, method, path, rule }) => {
      if (rule?.kind !== 'permission') return [];
      const permissions = permissionsAt(path);
      const fits = (permission: string): boolean =>
        permissions.includes(permission) &&
        // The harness has three permissions, and none for reading alone; provisioning has one.
        (/^\/(coding\/harness|scim)\//.test(path) ||
          actionsOfMethods[method]?.test(permission) === true);
      // Existing consoles unlock with GET; who may set a password may end the lock.
      if (key === 'GET /monitor/logininfor/unlock/:account') return [];
      const asked = [...rule.anyOf, ...(rule.also === undefined ? [] : [rule.also])];
      return asked.filter((permission) => !fits(permission)).map((one) => `${key}: ${one}`);
    });

    expect(unfit).toEqual([]);
  });

  it('is that of an approver where a person decides about a run', () => {
    const approving = routes.filter(
      ({ rule }) => rule?.kind === 'permission' && rule.also === 'coding:harness:approve',
    );

    expect(approving.map(({ key }) => key)).toEqual(approvingRoutes);
  });
});

describe('the harness', () => {
  it('answers nobody without a login, and no browser on another site (incident S18)', async () => {
    const ofHarness = routes.filter(({ path }) => path.startsWith('/coding/harness'));
    const wrong: string[] = [];
    for (const { key, method, path } of ofHarness) {
      const { text, headers } = await plinth
        .anonymous()
        .raw(method, path, method === 'GET' ? undefined : {}, { origin: 'https://evil.example' });
      const { code } = JSON.parse(text) as { code: number };
      if (code !== 401 || 'access-control-allow-origin' in headers) wrong.push(key);
    }

    expect(wrong).toEqual([]);
    expect(ofHarness.length).toBeGreaterThan(35);
  });
});

describe('every input', () => {
  it('is read by the name that the path gives it', () => {
    const wrong = routes.filter(({ parameters, ...route }) => {
      const read = parameters.filter((one) => one.source === 'path').map(({ name }) => name ?? '*');
      return (
        read.sort().join() !==
        pathParameters({ parameters, ...route })
          .sort()
          .join()
      );
    });

    expect(wrong.map(({ key }) => key)).toEqual([]);
  });

  it('is a class when it is a body or a query, never one field of it and never an open object', () => {
    const wrong = routes.filter(({ parameters }) =>
      parameters.some(
        ({ source: from, name, type }) =>
          (from === 'body' || from === 'query') &&
          (name !== undefined || type === Object || typeof type !== 'function'),
      ),
    );

    expect(wrong.map(({ key }) => key)).toEqual([]);
  });

  it('has a validator for each field that OpenAPI shows, and shows each that it lets through', () => {
    const wrong = inputClasses()
      .filter((dto) => validatedFields(dto).join() !== documentedFields(dto).join())
      .map((dto) => dto.name);

    expect(wrong).toEqual([]);
    expect(inputClasses().filter((dto) => validatedFields(dto).length === 0)).toEqual([]);
  });

  it('has no field without a decorator', () => {
    const bare = filesBelow(source, '.dto.ts').flatMap(bareFields);

    expect(bare).toEqual([]);
  });

  it('has objects inside of it only where they were looked at', () => {
    const nested = inputClasses().flatMap((dto) =>
      nestedFields(dto).map((field) => `${dto.name}.${field}`),
    );

    expect(nested.sort()).toEqual(knownNestedFields);
  });
});

describe('the OpenAPI document', () => {
  interface Operation {
    readonly operationId?: string;
    readonly 'x-permission'?: string;
    readonly tags?: string[];
    readonly parameters?: readonly object[];
    readonly requestBody?: { readonly content: Record<string, { schema?: object }> };
    readonly responses: Record<string, { content?: Record<string, { schema?: object }> }>;
  }

  let document: {
    readonly paths: Record<string, Record<string, Operation>>;
    readonly components: { readonly schemas: Record<string, Schema> };
  };
  let text: string;

  beforeAll(async () => {
    ({ text } = await plinth.anonymous().raw('GET', '/docs/json'));
    document = JSON.parse(text) as typeof document;
  });

  function operationOf({ method, path }: Route): Operation | undefined {
    return document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
  }

  interface Schema {
    readonly $ref?: string;
    readonly type?: string;
    readonly oneOf?: readonly Schema[];
    readonly properties?: Record<string, Schema>;
    readonly enum?: readonly unknown[];
  }

  /** Of the two envelopes of a JSON route that of a success. */
  function successOf(content: Record<string, { schema?: Schema }> | undefined): Schema | undefined {
    return content?.['application/json']?.schema?.oneOf?.[0];
  }

  it('describes the failures of every route but those of health, downloads and streams included', () => {
    const wrong = routes.filter((route) => {
      const responses = operationOf(route)?.responses;
      if (/^\/mcp(\/gateway)?$/.test(route.path)) {
        const own = responses?.['default']?.content?.['application/json']?.schema;
        return JSON.stringify(own) !== '{"$ref":"#/components/schemas/McpFailureView"}';
      }
      if (route.path.startsWith('/v1/')) {
        const own = responses?.['default']?.content?.['application/json']?.schema;
        const [openAi, anthropic] = ['OpenAi', 'Anthropic'].map((name) => {
          return `{"$ref":"#/components/schemas/${name}FailureView"}`;
        });
        if (/^\/v1\/(models|files)/.test(route.path)) {
          return JSON.stringify(own) !== `{"oneOf":[${openAi},${anthropic}]}`;
        }
        const isMessages = route.path.startsWith('/v1/messages');
        return JSON.stringify(own) !== (isMessages ? anthropic : openAi);
      }
      if (route.path.startsWith('/v1beta/')) {
        const own = responses?.['default']?.content?.['application/json']?.schema;
        return JSON.stringify(own) !== '{"$ref":"#/components/schemas/GeminiFailureView"}';
      }
      if (route.path.startsWith('/scim/')) {
        const own = responses?.['default']?.content?.['application/scim+json']?.schema;
        return JSON.stringify(own) !== '{"$ref":"#/components/schemas/ScimFailureView"}';
      }
      if (/^\/oauth\/(register|token|revoke)$/.test(route.path)) {
        const own = responses?.['default']?.content?.['application/json']?.schema;
        return JSON.stringify(own) !== '{"$ref":"#/components/schemas/OAuthFailureView"}';
      }
      if (route.path.endsWith('/backchannel-logout')) {
        const own = responses?.['default']?.content?.['application/json']?.schema;
        return JSON.stringify(own) !== '{"$ref":"#/components/schemas/LogoutFailureView"}';
      }
      const content = responses?.['200']?.content ?? {};
      const schema: Schema | undefined = content['application/json']?.schema;
      const failure = JSON.stringify(schema?.oneOf?.[1] ?? schema);
      const expected = route.path.startsWith('/coding/harness') ? 'HarnessFailure' : 'Failure';
      if (routesWithFailureData.includes(route.key)) return !failure.includes('"data"');
      return failure !== JSON.stringify({ $ref: `#/components/schemas/${expected}` });
    });

    expect(wrong.map(({ key }) => key).sort()).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /.well-known/oauth-protected-resource/mcp/gateway',
      'GET /health/live',
      'GET /health/ready',
    ]);
  });

  it('has null among the values of what can be null', () => {
    const wrong: string[] = [];
    const look = (part: unknown, place: string): void => {
      if (typeof part !== 'object' || part === null) return;
      const { nullable, type, enum: values } = part as Record<string, unknown>;
      const isWhole = type !== undefined && !('allOf' in part) && !('oneOf' in part);
      const hasNull = !Array.isArray(values) || values.includes(null);
      if (nullable === true && !(isWhole && hasNull)) wrong.push(place);
      for (const [name, inner] of Object.entries(part)) look(inner, `${place}.${name}`);
    };
    look(document, '');

    expect(wrong).toEqual([]);
  });

  it('describes texts that are attachments as bytes', () => {
    const texts = routes.flatMap((route) => {
      const content = operationOf(route)?.responses['200']?.content ?? {};
      return Object.entries(content)
        .filter(
          ([, { schema }]) => JSON.stringify(schema) === '{"type":"string","format":"binary"}',
        )
        .filter(([type]) => type.startsWith('text/'))
        .map(([type]) => `${type} ${route.key}`);
    });

    expect(texts.sort()).toEqual([
      'text/csv GET /monitor/usage/charges',
      'text/csv GET /monitor/usage/export',
      'text/csv GET /monitor/usage/own/export',
      'text/markdown GET /coding/harness/sessions/:sessionId/runs/:runId/report',
    ]);
  });

  it('has total and rows for the routes that end in /list, and data for the others (docs/WIRE.md)', () => {
    const unusual = routes.flatMap((route) => {
      const fields = successOf(operationOf(route)?.responses['200']?.content)?.properties ?? {};
      if (!('code' in fields)) return [];
      const names = ['data', 'rows'].filter((name) => name in fields);
      const usual = route.path.endsWith('/list') ? 'rows' : 'data';
      return names.join() === usual ? [] : [`${route.path}: ${names.join()}`];
    });

    expect(unusual.sort()).toEqual([
      '/auth/tenant/list: data',
      '/monitor/online: rows',
      '/system/model/modelList: data,rows',
      '/system/role/authUser/allocatedList: rows',
      '/system/role/authUser/unallocatedList: rows',
      '/system/social/list: data',
    ]);
  });

  it('names each operation by its controller and method, once', () => {
    const ids = routes.map((route) => operationOf(route)?.operationId ?? route.key);

    expect(ids).toContain('chat.send');
    expect(ids.filter((id) => !/^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/.test(id))).toEqual([]);
    // The client package makes a function of each.
    const functions = ids.map((id) => id.replace('.', '').toLowerCase());
    expect(functions.filter((name, at) => functions.indexOf(name) !== at)).toEqual([]);
  });

  it('is the same without a running application, where the client package is made from it', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'plinth-describe-'));
    try {
      const described = await describeApi(loadConfig({ DATA_DIR: dataDir, DEMO: 'off' }));
      expect(JSON.parse(JSON.stringify(described))).toEqual(document);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('has every route with its permission, a tag and the schema of its answer', () => {
    const wrong = routes.flatMap((route) => {
      const operation = operationOf(route);
      if (!operation) return [`${route.key} is missing`];
      const { 200: ok, 201: created, 204: empty } = operation.responses;
      const [answer] = Object.values((ok ?? created)?.content ?? {});
      return [
        ...(operation['x-permission'] === shownPermission(route)
          ? []
          : [`${route.key}: x-permission`]),
        ...(operation.tags?.length === 1 ? [] : [`${route.key}: tags`]),
        ...(answer?.schema || empty ? [] : [`${route.key}: no schema for 200`]),
        ...(ok && created ? [`${route.key}: 200 and 201`] : []),
      ];
    });

    expect(wrong).toEqual([]);
  });

  it('describes each JSON body by the class that reads it, and no files in one', () => {
    const described = routes.flatMap((route) => {
      const json = operationOf(route)?.requestBody?.content['application/json']?.schema;
      return route.body && json ? [{ route, json }] : [];
    });
    const wrong = described.filter(({ route: { body }, json }) => {
      return JSON.stringify(json) !== `{"$ref":"#/components/schemas/${body?.name}"}`;
    });

    expect(wrong.map(({ route }) => route.key)).toEqual([]);
    expect(described.length).toBeGreaterThan(60);
  });

  it('writes the fields of objects in queries and forms in brackets, as they are read', () => {
    const inBrackets = { style: 'deepObject', explode: true };
    const { get: list } = document.paths['/system/user/list'] ?? {};
    const { post: exported } = document.paths['/system/user/export'] ?? {};

    expect(list?.parameters).toContainEqual({
      name: 'params',
      in: 'query',
      required: false,
      schema: { $ref: '#/components/schemas/TimeRange' },
      ...inBrackets,
    });
    expect(exported?.requestBody?.content).toMatchObject({
      'application/x-www-form-urlencoded': { encoding: { params: inBrackets } },
    });
  });

  it('has an empty text among the values of what one clears', () => {
    const bodies = new Set(routes.flatMap(({ body }) => body ?? []));
    const cleared = [...bodies].flatMap((dto) =>
      documentedFields(dto).flatMap((field) => {
        const { [field]: read } = plainToInstance(dto, { [field]: '' }) as Record<string, unknown>;
        return read === null ? [{ dto, field }] : [];
      }),
    );
    const wrong = cleared.filter(({ dto, field }) => {
      const shown = document.components.schemas[dto.name]?.properties?.[field];
      return shown?.type !== 'string' && !shown?.oneOf?.some((one) => one.enum?.includes(''));
    });

    expect(wrong.map(({ dto, field }) => `${dto.name}.${field}`)).toEqual([]);
    expect(cleared.length).toBeGreaterThan(20);
  });

  it('describes the envelope of /list routes as rows, of others as data', () => {
    const enveloped = routes.flatMap((route) => {
      const schema = successOf(operationOf(route)?.responses['200']?.content);
      return schema?.properties?.['code']
        ? [{ route, fields: Object.keys(schema.properties) }]
        : [];
    });
    const wrong = enveloped.filter(({ route: { method, path }, fields }) => {
      const isList =
        method === 'GET' && /list$/i.test(path) && !/(model|query|select)List$/.test(path);
      // As existing clients read them.
      const isOther = ['/auth/tenant/list', '/system/social/list'].includes(path);
      const isPage = (isList && !isOther) || path === '/monitor/online';
      const expected = isPage ? ['rows', 'total'] : ['data'];
      return expected.some((field) => !fields.includes(field));
    });

    expect(wrong.map(({ route }) => route.key)).toEqual([]);
    expect(enveloped.length).toBeGreaterThan(80);
  });

  it('has no example that looks like a secret', () => {
    const examples = [...text.matchAll(/"(?:example|default)":("(?:[^"\\]|\\.)*")/g)].map(
      ([, value]) => JSON.parse(value ?? '""') as string,
    );
    const secrets = [
      /\b[sp]k-\w/,
      /eyJ[\w-]{8,}\./,
      /BEGIN [A-Z ]+KEY/,
      /bearer /i,
      /\b[A-Za-z0-9+/]{40,}\b/,
    ];

    expect(examples.length).toBeGreaterThan(20);
    expect(examples.filter((example) => secrets.some((secret) => secret.test(example)))).toEqual(
      [],
    );
    expect([...text.matchAll(/"(\w*(?:password|apiKey|secret)\w*)":\{[^{}]*"example":/gi)]).toEqual(
      [],
    );
  });
});

function shownPermission({ rule }: Route): string {
  if (rule?.kind === 'permission') {
    const also = rule.also === undefined ? '' : ` and ${rule.also}`;
    return `${rule.anyOf.join(' or ')}${also}`;
  }
  return rule?.kind === 'login' ? 'any signed-in user' : 'none';
}

function inputClasses(): Type[] {
  const classes = routes.flatMap(({ body, query }) => [body, query]);
  return [...new Set(classes.filter((dto) => dto !== undefined))];
}

function filesBelow(folder: string, end: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name));
}

function bareFields(file: string): string[] {
  const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return tree.statements.filter(ts.isClassDeclaration).flatMap(({ name, members }) =>
    members
      .filter(ts.isPropertyDeclaration)
      .filter((member) => (ts.getDecorators(member) ?? []).length === 0)
      .map((member) => `${name?.text ?? ''}.${member.name.getText(tree)}`),
  );
}

describe('the order of the routes', () => {
  it('lets each of them be reached', () => {
    const inOrder = routesInOrder(plinth.app);

    expect(inOrder).toEqual(expect.arrayContaining(routes.map(({ key }) => key)));
    expect(shadowedRoutes(inOrder)).toEqual([]);
  });

  it('would be found out where a parameter stands before a name', () => {
    expect(
      shadowedRoutes(['GET /a/:id', 'GET /a/count', 'POST /a/count', 'GET /a/:id/b', 'GET /a/x/b']),
    ).toEqual(['GET /a/count', 'GET /a/x/b']);
    expect(shadowedRoutes(['GET /a/count', 'GET /a/:id', 'GET /:b/count'])).toEqual([]);
  });
});
