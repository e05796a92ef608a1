import { randomUUID } from 'node:crypto';
import {
  harnessApproval,
  harnessArtifact,
  harnessEffect,
  harnessGrant,
  harnessRun,
  harnessSession,
  partsOf,
} from './harness.records.js';
import type { HarnessParts } from './harness.records.js';
import { fresh, modelName, user } from './records.js';
import type { RecordKind } from './records.js';
import type { Reference } from './references.js';
import type { Member, World } from './world.js';

const SESSION = '/coding/harness/sessions/:sessionId';
const RUN = `${SESSION}/runs/:runId`;
const HASH = 'a'.repeat(64);

/** A request that would be accepted, if it were not for the id. */
type Request = Pick<Reference, 'body' | 'query'>;

const kinds: Readonly<Record<keyof HarnessParts, RecordKind>> = {
  sessionId: harnessSession,
  runId: harnessRun,
  approvalId: harnessApproval,
  toolCallId: harnessEffect,
  grantId: harnessGrant,
  artifactId: harnessArtifact,
};

/**
 * References of a path: the session of somebody else with what is in it, and everything below it of somebody else in
 * a session of one's own.
 */
function below(pattern: string, request: Request = {}): Record<string, Reference> {
  const names = [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name as keyof HarnessParts);
  return Object.fromEntries(
    names.map((field) => {
      const path = async (
        by: Member,
        world: World,
        id: string,
      ): Promise<Record<string, string>> => {
        const parts = field === 'sessionId' ? partsOf(id) : await own(by, world);
        return Object.fromEntries(
          names.filter((name) => name !== field).map((name) => [name, parts[name]]),
        );
      };
      return [field, { kind: kinds[field], path, ...request }];
    }),
  );
}

async function own(by: Member, world: World): Promise<HarnessParts> {
  return partsOf(await harnessSession.make(by, world));
}

function routes(
  entries: Readonly<Record<string, Request>>,
): Record<string, Record<string, Reference>> {
  return Object.fromEntries(
    Object.entries(entries).map(([key, request]) => [key, below(key, request)]),
  );
}

const input = { body: () => ({ kind: 'STEER', content: 'New', idempotencyKey: fresh('key') }) };
const plan = { taskId: randomUUID(), expectedRevision: 1, expectedHash: HASH };

/** What names sessions of the harness and what is in them. */
export const harnessReferences: Record<string, Record<string, Reference>> = {
  'GET /coding/harness/sessions': {
    userId: { kind: user, query: (id) => `userId=${id}`, code: 200 },
  },
  'POST /coding/harness/sessions': {
    model: {
      kind: {
        ...modelName,
        make: async ({ session }) => {
          const name = fresh('model');
          const fields = { providerCode: 'custom_api', category: 'chat', supportsTools: true };
          await session.post('/system/model', {
            ...{ ...fields, modelName: name, apiHost: 'http://127.0.0.1:9' },
          });
          return name;
        },
      },
      body: (model) => ({
        ...{ model, permissionMode: 'WORKSPACE_WRITE', title: 'New', idempotencyKey: fresh('key') },
      }),
      code: 400,
    },
  },
  'POST /coding/harness/events/stream': {
    'runs.sessionId': {
      kind: harnessSession,
      body: (sessionId) => ({ runs: [{ sessionId, runId: partsOf(sessionId).runId }] }),
    },
    'runs.runId': {
      kind: harnessRun,
      body: async (runId, by, world) => {
        const { sessionId } = await own(by, world);
        return { runs: [{ sessionId, runId }] };
      },
    },
  },
  ...routes({
    [`GET ${SESSION}`]: {},
    [`PUT ${SESSION}/pin`]: { body: () => ({ pinned: true }) },
    [`PUT ${SESSION}/title`]: { body: () => ({ title: 'New' }) },
    [`DELETE ${SESSION}`]: {},
    [`POST ${SESSION}/restore`]: {},
    [`GET ${SESSION}/messages`]: {},
    [`GET ${SESSION}/skills`]: {},
    [`GET ${SESSION}/grants`]: {},
    [`DELETE ${SESSION}/grants/:grantId`]: {},
    [`GET ${SESSION}/runs`]: {},
    [`POST ${SESSION}/runs`]: {
      body: () => ({ requirement: 'New', idempotencyKey: fresh('key') }),
    },
    [`GET ${RUN}`]: {},
    [`POST ${RUN}/inputs`]: input,
    [`POST ${RUN}/cancel`]: {},
    [`POST ${RUN}/resume`]: {},
    [`GET ${RUN}/events`]: {},
    [`GET ${RUN}/events/stream`]: {},
    [`GET ${RUN}/plan`]: {},
    [`POST ${RUN}/plan/approve`]: { body: () => ({ ...plan, idempotencyKey: fresh('key') }) },
    [`POST ${RUN}/plan/revision`]: {
      body: () => ({ ...plan, feedbackId: fresh('key'), content: 'New' }),
    },
    [`GET ${RUN}/approvals`]: {},
    [`POST ${RUN}/approvals/:approvalId/resolve`]: {
      body: () => ({
        ...{ decisionId: fresh('key'), decision: 'APPROVE', expectedRevision: 1 },
        argumentsSha256: HASH,
      }),
    },
    [`GET ${RUN}/effects`]: {},
    [`POST ${RUN}/effects/:toolCallId/resolution`]: { body: () => ({ resolution: 'EXECUTED' }) },
    [`GET ${RUN}/diff`]: {},
    [`GET ${RUN}/files`]: {},
    [`GET ${RUN}/artifacts`]: {},
    [`GET ${RUN}/artifacts/:artifactId`]: {},
    [`POST ${RUN}/undo`]: { body: () => ({}) },
    [`POST ${RUN}/redo`]: { body: () => ({}) },
    [`GET ${RUN}/usage`]: {},
    [`GET ${RUN}/report`]: {},
  }),
};

/** Parameters that look like references, each with the reason why they are none. */
export const noHarnessReferences: Record<string, string> = {
  [`POST ${RUN}/plan/approve taskId`]: 'Must be that of the plan of the run in the path.',
  [`POST ${RUN}/plan/revision taskId`]: 'The same.',
  [`POST ${RUN}/plan/revision feedbackId`]:
    'A text of the client’s own: the same one is done once.',
  [`POST ${RUN}/approvals/:approvalId/resolve decisionId`]: 'The same.',
  [`GET ${RUN}/effects afterToolCallId`]: 'Looked for among the calls of the run in the path.',
  [`POST ${RUN}/undo changeIds`]: 'Looked for among the changes of the run in the path.',
  [`POST ${RUN}/redo changeIds`]: 'The same.',
};
