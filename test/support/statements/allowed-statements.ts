export interface AllowedStatement {
  /** How the statement begins; white space counts as one space. */
  readonly begins: string;
  /** Where it stands. */
  readonly file: string;
  readonly why: string;
}

/**
 * The statements that may touch tenant tables without saying of which tenant, because their work is the whole
 * installation's and no caller chooses what they touch. A line here needs a reason that a reviewer accepts.
 */
export const allowedStatements: readonly AllowedStatement[] = [
  {
    begins: 'SELECT turn_process AS process FROM chat_session WHERE turn_id IS NOT NULL',
    file: 'src/chat/turn.repository.ts',
    why: 'Which processes hold turns, of all tenants; those that have ended lose them.',
  },
  {
    begins:
      'SELECT count(*) AS count FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS point (id, attachment, tenant) JOIN fragment f ON f.id',
    file: 'src/vector-store/qdrant/qdrant-points.repository.ts',
    why: 'Whether vectors in Qdrant are of this database: the tenant of each is compared.',
  },
  {
    begins:
      'SELECT tenant_id AS "tenantId", to_char(call_time AT TIME ZONE $1, \'YYYY-MM-DD\') AS day FROM upstream_call WHERE attempt IS NOT NULL',
    file: 'src/usage/ledger.repository.ts',
    why: 'The days of the usage ledger that become sums: each is then summed up with its own tenant.',
  },
  {
    begins: 'DELETE FROM upstream_call WHERE id IN ( SELECT id FROM upstream_call',
    file: 'src/usage/ledger.repository.ts',
    why: 'The end of the retention of the usage ledger, which is one for the installation.',
  },
  {
    begins:
      'WITH held AS ( SELECT limit_id, subject_id, id FROM usage_reservation WHERE id = ANY ($1::uuid[])',
    file: 'src/usage/reservation.repository.ts',
    why: 'The renewal of what the running calls of a process have reserved, of all tenants, by ids that this process has made.',
  },
  {
    begins:
      'DELETE FROM usage_reservation WHERE ctid = ANY (ARRAY( SELECT ctid FROM usage_reservation',
    file: 'src/usage/reservation.repository.ts',
    why: 'The sweep of reservations of processes that have ended, of all tenants.',
  },
  {
    begins: 'DELETE FROM usage_counter WHERE ctid = ANY (ARRAY( SELECT c.ctid FROM usage_counter c',
    file: 'src/usage/reservation.repository.ts',
    why: 'The sweep of counters that were not used for days, of all tenants.',
  },
  {
    begins:
      'DELETE FROM stored_response WHERE (tenant_id, user_id, id) IN ( SELECT tenant_id, user_id, id FROM stored_response WHERE last_used_time < now()',
    file: 'src/compatible-api/openai/responses/stored-response.repository.ts',
    why: 'The sweep of stored responses whose conversation was not continued for a long time, in every tenant.',
  },
  {
    begins:
      'DELETE FROM response_conversation WHERE id IN ( SELECT id FROM response_conversation WHERE last_used_time < now()',
    file: 'src/compatible-api/openai/responses/conversation.repository.ts',
    why: 'The sweep of conversations of responses that got no items for a long time, in every tenant.',
  },
  {
    begins:
      'DELETE FROM stored_response_event WHERE (tenant_id, user_id, response_id, sequence) IN ( SELECT event.tenant_id, event.user_id, event.response_id, event.sequence FROM stored_response_event event',
    file: 'src/compatible-api/openai/responses/response-event.repository.ts',
    why: 'The sweep of old events of responses in the background, in every tenant.',
  },
  {
    begins: 'WITH chosen AS ( SELECT b.number FROM api_batch b',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'A process claims the next line of the batches of every tenant, which take turns.',
  },
  {
    begins: 'UPDATE api_batch SET lease_token = $1::uuid',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'A process claims a batch of any tenant whose file is to be read, or whose lines have all ended.',
  },
  {
    begins: 'WITH lines AS ( UPDATE api_batch_line SET status = CASE WHEN attempts < $1',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'The sweep of lines whose process has stopped, in every tenant.',
  },
  {
    begins: 'WITH lines AS ( UPDATE api_batch_line l SET status = CASE b.status',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'The sweep of lines of batches that were cancelled or have expired, in every tenant.',
  },
  {
    begins: 'WITH line AS ( UPDATE api_batch_line SET lease_until',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'A process renews its leases of batches and lines of every tenant, by their tokens.',
  },
  {
    begins: 'UPDATE api_batch_line SET lease_until = now() - interval',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'At the start of the one process of the embedded store: no other process has a lease.',
  },
  {
    begins: 'UPDATE api_batch SET lease_until = now() - interval',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'At the start of the one process of the embedded store: no other process has a lease.',
  },
  {
    begins:
      'DELETE FROM api_batch WHERE number IN ( SELECT number FROM api_batch WHERE end_time < now()',
    file: 'src/compatible-api/batch/api-batch.repository.ts',
    why: 'The sweep of batches that ended long ago, in every tenant.',
  },
  {
    begins: 'SELECT tenant_id AS "tenantId", file_id AS "fileId" FROM api_file',
    file: 'src/compatible-api/files/api-file.repository.ts',
    why: 'The sweep of files whose time is over, in every tenant.',
  },
  {
    begins: 'UPDATE stored_response SET running_until = now()',
    file: 'src/compatible-api/openai/responses/stored-response.repository.ts',
    why: 'A process renews the responses that it answers in the background, of every tenant.',
  },
  {
    begins: 'SELECT tenant_id AS "tenantId" FROM sso_provider WHERE public_id = $1',
    file: 'src/identity/sso/sso.repository.ts',
    why: 'The provider of a sign-in, before its tenant is known: its public id is unique to the installation, and the tenant is answered.',
  },
  {
    begins:
      'UPDATE sso_identity SET checked_time = now() WHERE id IN ( SELECT i.id FROM sso_identity i',
    file: 'src/identity/sso/sso.repository.ts',
    why: 'The check of users at their providers: each is then asked for, and changed, with their own tenant.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId", client_secret AS secret FROM sso_provider WHERE id > $1',
    file: 'src/identity/sso/sso.repository.ts',
    why: 'The change of the encryption key at the start: every sealed client secret, each opened with its own tenant.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId", refresh_token AS secret FROM sso_identity WHERE id > $1',
    file: 'src/identity/sso/sso.repository.ts',
    why: 'The change of the encryption key at the start: every sealed refresh token, each opened with its own tenant.',
  },
  {
    begins: 'SELECT id, tenant_id AS "tenantId" FROM api_key WHERE key_id = $1',
    file: 'src/apikey/api-key.repository.ts',
    why: 'The key of a request, before its tenant is known: its id is unique to the installation, and the tenant is answered.',
  },
  {
    begins: "UPDATE harness_run SET lease_until = now() + interval '",
    file: 'src/harness/store/run.repository.ts',
    why: 'The lease of one run of the tenant. Its user is looked up in the tenant of their account, which for a super administrator is another one.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId" FROM harness_run WHERE (status = \'QUEUED\' AND due_at <= now())',
    file: 'src/harness/store/run.repository.ts',
    why: 'The sweep of runs that wait for an owner: each is then claimed with its own tenant.',
  },
  {
    begins:
      "SELECT id, tenant_id AS \"tenantId\" FROM harness_run WHERE status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND cancel_requested_at < now()",
    file: 'src/harness/store/run.repository.ts',
    why: 'The sweep of cancelled runs whose owner does not end them: each is then ended with its own tenant.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId", lease_owner AS "leaseOwner", lease_boot AS "leaseBoot" FROM harness_run',
    file: 'src/harness/store/run.repository.ts',
    why: 'The sweep of runs whose owner may be gone: each lease is then ended with its own tenant.',
  },
  {
    begins:
      'SELECT r.id, r.tenant_id AS "tenantId", r.session_id AS "sessionId", r.lease_boot AS boot, coalesce(r.lease_until, r.ended_at, r.update_time) <= now() - make_interval(secs => $2) AS "isOver", c.command FROM harness_workspace_lock l JOIN harness_run r ON r.tenant_id = l.tenant_id AND r.id = l.run_id LEFT JOIN LATERAL',
    file: 'src/harness/store/workspace-lock.repository.ts',
    why: 'The sweep of workspaces whose run was ended under its owner, or in a command: each is then tidied and freed with its own tenant.',
  },
  {
    begins:
      'WITH dead AS ( SELECT tenant_id, id, user_id, turn_id, leaf_id FROM chat_session WHERE turn_id IS NOT NULL',
    file: 'src/chat/turn.repository.ts',
    why: 'The sweep of turns whose process died: each row is changed with its own tenant.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId", credential FROM model_key WHERE id > $1 AND starts_with(credential, $2)',
    file: 'src/model/credential.repository.ts',
    why: 'The same for further keys of models.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId", credential FROM model WHERE id > $1 AND starts_with(credential, $2)',
    file: 'src/model/credential.repository.ts',
    why: 'The change of the encryption key at the start: every sealed credential, each opened with its own tenant.',
  },
  {
    begins: 'SELECT storage_key FROM stored_file WHERE storage_key = ANY($1)',
    file: 'src/platform/storage/storage.repository.ts',
    why: 'The sweep of files without a record: a key names one file of one tenant, and only its existence is read.',
  },
  {
    begins: 'DELETE FROM stored_file WHERE user_id = ANY ($1::bigint[]) AND belongs_to = $2',
    file: 'src/platform/storage/storage.repository.ts',
    why: 'The erasure of a user, whose files of chats are deleted in every tenant in which they have worked.',
  },
  {
    begins: 'SELECT id, storage_key AS key FROM stored_file ORDER BY id DESC LIMIT 1',
    file: 'src/platform/storage/installation.repository.ts',
    why: 'The mark that tells the database from a clone of it: the newest file of the installation, of which no caller reads anything.',
  },
  {
    begins: 'SELECT storage_key AS key FROM stored_file WHERE id = $1',
    file: 'src/platform/storage/installation.repository.ts',
    why: 'The same mark: whether the file that it names is still the one of this database.',
  },
  {
    begins: 'DELETE FROM login_session WHERE expire_time < now() OR last_active_time < now()',
    file: 'src/identity/login-session/login-session.repository.ts',
    why: 'The sweep of sign-ins that have ended by themselves: only their end decides.',
  },
  {
    begins:
      'UPDATE audit_entry SET actor_name = NULL, ip = NULL WHERE actor_id = ANY ($1::bigint[])',
    file: 'src/identity/user/user.repository.ts',
    why: 'The erasure of a deleted user, whose id is unique to the installation: a super administrator acts in many tenants.',
  },
  {
    begins:
      'SELECT id, tenant_id AS "tenantId", byte_size AS "byteSize" FROM attachment WHERE parse_requested AND due_at <= now()',
    file: 'src/attach/parsing/parsing.repository.ts',
    why: 'The sweep of documents that wait: each is then claimed with its own tenant.',
  },
  {
    begins: 'UPDATE attachment SET status = 3, failure = $1, parse_requested = false',
    file: 'src/attach/parsing/parsing.repository.ts',
    why: 'The sweep of documents over which three processes have died: their rows alone decide.',
  },
  {
    begins: "UPDATE attachment SET lease_until = now() - interval '1 second'",
    file: 'src/attach/parsing/parsing.repository.ts',
    why: 'The start of the only process there is: no lease that it finds can be alive.',
  },
  {
    begins:
      'SELECT count(*) AS count, extract(epoch FROM now() - min(requested_at))::float8 AS "oldestSeconds" FROM attachment',
    file: 'src/attach/parsing/parsing.repository.ts',
    why: 'The metric of what waits: two numbers over all tenants, no row of any.',
  },
  {
    begins:
      'SELECT tenant_id AS "tenantId", knowledge_id AS "knowledgeId", count(*) AS count FROM fragment_vector GROUP BY',
    file: 'src/vector-store/exact/exact.repository.ts',
    why: 'The sweep of vectors without a record: each scope it finds is looked at with its own tenant.',
  },
  {
    begins:
      'SELECT tenant_id AS "tenantId", knowledge_id AS "knowledgeId", count(*) AS count FROM fragment_pgvector GROUP BY',
    file: 'src/vector-store/pgvector/pgvector.repository.ts',
    why: 'The same on the other table of vectors.',
  },
  {
    begins:
      'SELECT id AS "knowledgeId", tenant_id AS "tenantId", vector_model AS "vectorModel", vector_store AS "vectorStore" FROM knowledge_base WHERE id > $1',
    file: 'src/attach/parsing/lost-vectors.repository.ts',
    why: 'The sweep of bases of which vectors may be lost: each is then compared with its own tenant.',
  },
  {
    begins:
      'SELECT DISTINCT vector_model AS "vectorModel", vector_store AS "vectorStore" FROM knowledge_base WHERE vector_store IS NOT NULL',
    file: 'src/attach/parsing/vector-homes.repository.ts',
    why: 'Which stores bases use: codes of stores over all tenants, no row of any.',
  },
  {
    begins:
      'SELECT pair.model AS "vectorModel", pair.store AS "vectorStore", count(*) AS bases FROM unnest($1::text[], $2::text[]) AS pair (model, store) JOIN knowledge_base b',
    file: 'src/attach/parsing/vector-homes.repository.ts',
    why: 'The number of bases that are in another store, over all tenants, for readiness and the log.',
  },
  {
    begins: 'SELECT count(*) AS count FROM knowledge_base WHERE vectors_lost_at IS NOT NULL',
    file: 'src/attach/parsing/lost-vectors.repository.ts',
    why: 'The metric of incomplete bases: one number over all tenants, no row of any.',
  },
  {
    begins: 'SELECT id, tenant_id AS "tenantId" FROM vector_removal WHERE due_at <= now()',
    file: 'src/fragment/vector-removal.repository.ts',
    why: 'The sweep of removals that wait: each is then claimed with its own tenant.',
  },
  {
    begins: 'SELECT count(*) AS count FROM vector_removal',
    file: 'src/fragment/vector-removal.repository.ts',
    why: 'The metric of what waits: one number over all tenants, no row of any.',
  },
  {
    begins:
      'WITH waiting AS ( SELECT id, tenant_id, row_number() OVER (ORDER BY due_at, id) - 1 AS ahead FROM attachment WHERE parse_requested',
    file: 'src/attach/attach.repository.ts',
    why: 'The place of own documents in the queue, which is that of all tenants: of the others only their number is told.',
  },
  {
    begins:
      'SELECT run.tenant_id AS "tenantId", run.id, run.ended_at::text AS "endedAt" FROM harness_run run',
    file: 'src/harness/store/event.repository.ts',
    why: 'The removal of old events: each run that it finds is then pruned with its own tenant.',
  },
  {
    begins: 'SELECT tenant_id AS "tenantId", run_id AS "runId" FROM harness_approval WHERE state =',
    file: 'src/harness/store/approval.repository.ts',
    why: 'The sweep of approvals whose time is over: each run is then ended with its own tenant.',
  },
  {
    begins:
      'SELECT tool_call_id AS "toolCallId", tenant_id AS "tenantId", session_id AS "sessionId", run_id AS "runId", coalesce(boot, \'\') AS boot, extract(epoch FROM now() - started_at)::float8 AS seconds FROM harness_effect',
    file: 'src/harness/store/undo.repository.ts',
    why: 'The sweep of undos whose process died: each is then settled with its own tenant.',
  },
  {
    begins: "SELECT count(*) AS count FROM harness_run WHERE status = 'QUEUED'",
    file: 'src/harness/store/run.repository.ts',
    why: 'The limit of the queue, which is that of all tenants: one number, no row of any.',
  },
];
