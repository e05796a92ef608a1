import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** Where work is bound to a tenant, and why to that one. The interceptor aside, each is a way past the request's own. */
const bound: Readonly<Record<string, string>> = {
  'platform/access/tenant.interceptor.ts': 'The tenant of the caller, for all of a request.',
  // Of the caller, who may have switched to another tenant
  'identity/access/access.change.ts':
    'The tenant that the actor names: the one worked in, or the own.',
  'identity/sign-in/session.caller-resolver.ts': 'Before the caller is known: of the token.',
  'apikey/stored-key.callers.ts': 'Before the caller is known: of the stored key.',
  'identity/sign-in/sign-in.service.ts': 'Own sign-ins are rows of the own tenant.',
  'identity/login-session/login-session.service.ts': 'A sign-in belongs to the tenant of its user.',
  'identity/user/profile.service.ts': 'The own profile is a row of the own tenant.',
  'identity/user/user.callers.ts': 'A user is a row of the own tenant, wherever the work is done.',
  'harness/api/report/report.controller.ts': 'The user of a run may be one of another tenant.',
  // Before the sign-in
  'identity/sign-in/login.service.ts': 'The tenant that is signed in to, or registered in.',
  'identity/sso/sso.sign-in.ts': 'Of the provider that is signed in with.',
  'identity/sso/sso.logout.ts': 'Of the provider that signs out, or of the sign-in that ends.',
  'identity/sso/sso.users.ts': 'Of the provider.',
  'platform/storage/storage.service.ts': 'Of the signed address of a file.',
  // Super administrators, and the start
  'identity/tenant/tenant.service.ts': 'The tenant that is created, or deleted.',
  'dictionary/dictionary.seed.ts': 'The tenant that gets its dictionary.',
  'demo/demo.module.ts': 'The tenant that gets the demo.',
  'knowledge-import.ts': 'The tenant that the command names.',
  'password-reset.ts': 'The tenant that the command names.',
  // Jobs and sweeps: the tenant of the row
  'attach/parsing/parsing.worker.ts': 'Of the document.',
  'compatible-api/batch/batch.worker.ts': 'Of the batch.',
  'compatible-api/files/api-files.service.ts': 'Of the file whose time is over.',
  'chat/answer.store.ts': 'Of the turn whose answer is stored.',
  'attach/reconciliation/vector-reconciliation.ts': 'Of the knowledge base.',
  'fragment/vector-removals.ts': 'Of the removal.',
  'usage/usage.retention.ts': 'Of the day that becomes sums.',
  'harness/engine/event.retention.ts': 'Of the run whose events are removed.',
  'harness/engine/run.ts': 'Of the run.',
  'identity/sso/sso.checks.ts': 'Of the user who is asked for.',
  'identity/sso/sso.vault.ts': 'Of the secret that is encrypted again.',
  'harness/engine/undo/undo.service.ts': 'Of the run whose undo was interrupted.',
};

/** Every work that belongs to no tenant, with the file of its statement. */
const across: readonly (readonly [file: string, reason: string])[] = [
  ['apikey/api-key.repository.ts', 'API key of a request'],
  ['attach/parsing/lost-vectors.repository.ts', 'metric of incomplete bases'],
  ['attach/parsing/lost-vectors.repository.ts', 'sweep of bases with vectors'],
  ['attach/parsing/parsing.repository.ts', 'expiry of leases at the start'],
  ['attach/parsing/parsing.repository.ts', 'metric of waiting documents'],
  ['attach/parsing/parsing.repository.ts', 'sweep of exhausted documents'],
  ['attach/parsing/parsing.repository.ts', 'sweep of waiting documents'],
  ['attach/parsing/vector-homes.repository.ts', 'bases by vector store'],
  ['attach/parsing/vector-homes.repository.ts', 'bases by vector store'],
  ['chat/turn.repository.ts', 'renewal of turn leases'],
  ['chat/turn.repository.ts', 'renewal of turn leases'],
  ['chat/turn.repository.ts', 'sweep of dead turns'],
  ['chat/turn.repository.ts', 'sweep of dead turns'],
  ['chat/turn.repository.ts', 'texts of running turns'],
  ['compatible-api/batch/api-batch.repository.ts', 'claim of a batch'],
  ['compatible-api/batch/api-batch.repository.ts', 'claim of a line of a batch'],
  ['compatible-api/batch/api-batch.repository.ts', 'end of lines of batches'],
  ['compatible-api/batch/api-batch.repository.ts', 'leases of batches at the start'],
  ['compatible-api/batch/api-batch.repository.ts', 'leases of batches at the start'],
  ['compatible-api/batch/api-batch.repository.ts', 'recovery of lines of batches'],
  ['compatible-api/batch/api-batch.repository.ts', 'renewal of batches'],
  ['compatible-api/batch/api-batch.repository.ts', 'sweep of batches'],
  ['compatible-api/files/api-file.repository.ts', 'expired files of the compatible interfaces'],
  ['compatible-api/openai/responses/conversation.repository.ts', 'sweep of response conversations'],
  ['compatible-api/openai/responses/response-event.repository.ts', 'sweep of events of responses'],
  [
    'compatible-api/openai/responses/stored-response.repository.ts',
    'renewal of responses in the background',
  ],
  ['compatible-api/openai/responses/stored-response.repository.ts', 'sweep of stored responses'],
  ['fragment/vector-removal.repository.ts', 'metric of vector removals'],
  ['fragment/vector-removal.repository.ts', 'sweep of vector removals'],
  ['harness/store/approval.repository.ts', 'sweep of expired approvals'],
  ['harness/store/effect.repository.ts', 'sweep of interrupted undos'],
  ['harness/store/event.repository.ts', 'poll of followed runs'],
  ['harness/store/event.repository.ts', 'retention of events'],
  ['harness/store/run.repository.ts', 'limit of the queue'],
  ['harness/store/run.repository.ts', 'sweep of cancelled runs'],
  ['harness/store/run.repository.ts', 'sweep of lost leases'],
  ['harness/store/run.repository.ts', 'sweep of waiting runs'],
  ['harness/store/workspace-lock.repository.ts', 'sweep of workspaces that runs have left'],
  ['identity/login-session/login-session.repository.ts', 'sweep of sign-ins'],
  ['identity/sso/sso.repository.ts', 'check of users at their providers'],
  ['identity/sso/sso.repository.ts', 'provider of a sign-in'],
  ['identity/sso/sso.repository.ts', 'rotation of client secrets'],
  ['identity/sso/sso.repository.ts', 'rotation of refresh tokens'],
  ['identity/user/user.repository.ts', 'erasure of a user'],
  ['model/credential.repository.ts', 'rotation of credentials'],
  ['model/credential.repository.ts', 'rotation of credentials'],
  ['platform/storage/installation.repository.ts', 'mark of the installation'],
  ['platform/storage/installation.repository.ts', 'mark of the installation'],
  ['usage/ledger.repository.ts', 'entries of the usage ledger'],
  ['usage/ledger.repository.ts', 'retention of the usage ledger'],
  ['usage/ledger.repository.ts', 'roll-up of the usage ledger'],
  ['usage/reservation.repository.ts', 'renewal of reservations'],
  ['usage/reservation.repository.ts', 'sweep of counters'],
  ['usage/reservation.repository.ts', 'sweep of reservations'],
  ['platform/storage/storage.repository.ts', 'files of deleted users'],
  ['platform/storage/storage.repository.ts', 'sweep of stored files'],
  ['vector-store/exact/exact.repository.ts', 'sweep of vectors'],
  ['vector-store/qdrant/qdrant-points.repository.ts', 'mark of the installation'],
  ['vector-store/pgvector/pgvector.repository.ts', 'sweep of vectors'],
];

/** The production files that match, with what the form captures of each match. */
function found(form: RegExp): [file: string, captured: string][] {
  return globSync('**/*.ts', { cwd: source })
    .filter((file) => !file.endsWith('.spec.ts') && !file.startsWith('platform/database/'))
    .sort()
    .flatMap((file) =>
      Array.from(
        readFileSync(`${source}${file}`, 'utf8').matchAll(form),
        ([, captured = '']): [string, string] => [file, captured],
      ),
    );
}

describe('work is bound to a tenant', () => {
  it('in the files of the reviewed list, and all of them', () => {
    const files = new Set(found(/\b(?:inTenant|transactionIn)\(/g).map(([file]) => file));
    expect([...files].sort()).toEqual(Object.keys(bound).sort());
  });

  it('or runs across tenants for the reasons of the reviewed list, one statement each', () => {
    const calls = found(/\bacrossTenants\(\s*([^,]*),/g);
    const reasons = calls.map(([file, reason]) => `${file} ${reason}`).sort();
    expect(reasons).toEqual(across.map(([file, reason]) => `${file} '${reason}'`).sort());

    const statements = found(
      /\bacrossTenants\(\s*'[^']*',\s*\(\)\s*=>\s*this\.database\.(query)</g,
    );
    const plain = found(
      /\bacrossTenants\(\s*'[^']*',\s*\(\)\s*=>\s*this\.database\.(query|prepared)\(/g,
    );
    expect(statements.length + plain.length).toBe(across.length);
  });

  it('by nothing else: only the store knows the binding itself', () => {
    expect(found(/(tenant-binding)/g)).toEqual([]);
  });
});
