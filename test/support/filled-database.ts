/**
 * Rows of many tenants, users and records in the tables that grow, and the requests that list them; the suite of plans and
 * `npm run bench:lists` share them. It imports nothing, so that the bench can read it without a build.
 */
export interface FilledSizes {
  readonly tenants: number;
  readonly usersPerTenant: number;
  readonly basesPerTenant: number;
  readonly documentsPerBase: number;
  readonly messagesPerUser: number;
  readonly callsPerUser: number;
}

type Query = (sql: string, parameters?: readonly unknown[]) => Promise<unknown>;

const MESSAGES_PER_SESSION = 20;
const FRAGMENTS_PER_DOCUMENT = 5;

/** Tables with many rows once an installation is in use: a statement that reads one of them whole is slow. */
export const LARGE_TABLES = [
  'access_grant',
  'attachment',
  'audit_entry',
  'chat_message',
  'chat_session',
  'fragment',
  'group_membership',
  'harness_event',
  'harness_run',
  'harness_session',
  'login_session',
  'media_task',
  'stored_file',
  'stored_response',
  'upstream_call',
  'user_account',
];

/** Fills the database through its schema: the same number of rows in each tenant, that of the administrator included. */
export async function fillDatabase(query: Query, sizes: FilledSizes): Promise<void> {
  const { tenants, usersPerTenant, basesPerTenant, documentsPerBase } = sizes;
  const times = (count: number) => `generate_series(1, ${count}) AS n`;
  const statements = [
    `INSERT INTO tenant (tenant_id, company_name)
       SELECT (500000 + n)::text, 'Company ' || n FROM ${times(tenants - 1)}`,
    `INSERT INTO user_account (tenant_id, user_name, nick_name, password_hash)
       SELECT tenant_id, 'filled' || n, 'User ' || n, 'none' FROM tenant, ${times(usersPerTenant)}`,
    `INSERT INTO user_group (tenant_id, display_name, source)
       SELECT tenant_id, 'Group ' || n, 'local' FROM tenant, ${times(20)}`,
    `INSERT INTO group_member (tenant_id, group_id, user_id)
       SELECT u.tenant_id, g.id, u.id FROM user_account u JOIN user_group g USING (tenant_id) WHERE (u.id + g.id) % 5 = 0`,
    'INSERT INTO group_membership (tenant_id, group_id, user_id) SELECT tenant_id, group_id, user_id FROM group_member',
    `INSERT INTO login_session (id, tenant_id, user_id, client_id, active_timeout, expire_time)
       SELECT gen_random_uuid(), u.tenant_id, u.id, c.client_id, 3600, now() + interval '1 day'
         FROM user_account u, (SELECT client_id FROM client LIMIT 1) c, ${times(2)}`,
    `INSERT INTO stored_file (tenant_id, user_id, storage_key, original_name, mime_type, byte_size, sha256, service)
       SELECT tenant_id, id, 'filled/' || id || '/' || n, 'file ' || n, 'text/plain', 1, repeat('0', 64), 'local'
         FROM user_account, ${times(2)}`,
    `INSERT INTO chat_session (tenant_id, user_id)
       SELECT tenant_id, id FROM user_account, ${times(Math.ceil(sizes.messagesPerUser / MESSAGES_PER_SESSION))}`,
    `INSERT INTO chat_message (tenant_id, user_id, session_id, role, content, create_time)
       SELECT tenant_id, user_id, id, CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, 'Text ' || n,
              now() - make_interval(mins => n + (id % 100000)::int)
         FROM chat_session, ${times(MESSAGES_PER_SESSION)}`,
    `INSERT INTO knowledge_base (tenant_id, user_id, name)
       SELECT tenant_id, u.id, 'Base ' || n
         FROM (SELECT tenant_id, min(id) AS id FROM user_account GROUP BY tenant_id) u, ${times(basesPerTenant)}`,
    `INSERT INTO access_grant (tenant_id, resource_type, resource_id, subject, level)
       SELECT k.tenant_id, 'knowledge', k.id, 'user:' || u.id, 2 FROM knowledge_base k JOIN user_account u USING (tenant_id)
        WHERE (u.id + k.id) % 7 = 0
       UNION ALL SELECT tenant_id, 'knowledge', id, 'tenant', 2 FROM knowledge_base WHERE id % 3 = 0`,
    `INSERT INTO attachment (tenant_id, knowledge_id, user_id, doc_id, file_hash, name, type, byte_size, status)
       SELECT tenant_id, id, user_id, 'filled-' || id || '-' || n, md5(n::text) || md5(id::text), 'Document ' || n, 'txt', 1, 2
         FROM knowledge_base, ${times(documentsPerBase)}`,
    `INSERT INTO fragment (tenant_id, knowledge_id, attachment_id, doc_id, fid, idx, content, language, term_count)
       SELECT tenant_id, knowledge_id, id, doc_id, doc_id || '-' || n, n, 'Text of fragment ' || n, 'english', 4
         FROM attachment, ${times(FRAGMENTS_PER_DOCUMENT)}`,
    `INSERT INTO upstream_call (id, tenant_id, call_time, user_id, door, feature, asked_model, model_id, model_name,
         provider_code, kind, input_tokens, output_tokens, cached_tokens, reasoning_tokens, images, seconds, characters, duration_ms)
       SELECT gen_random_uuid(), tenant_id, now() - make_interval(mins => 30 * n + (id % 30)::int), id, 'chat', 'chat', 'model', 1,
              'model', 'custom_api', 'chat', 100, 10, 0, 0, 0, 0, 0, 500 FROM user_account, ${times(sizes.callsPerUser)}`,
    `INSERT INTO audit_entry (tenant_id, action, target_type)
       SELECT tenant_id, CASE n WHEN 1 THEN 'auth.login' ELSE 'user.update' END, 'user' FROM user_account, ${times(4)}`,
    `INSERT INTO media_task (tenant_id, user_id, model_name, kind, provider_task_id, excerpt)
       SELECT tenant_id, id, 'model', 'image', 'task-' || id || '-' || n, 'A tree' FROM user_account, ${times(2)}`,
    `INSERT INTO stored_response (id, tenant_id, user_id, model_name, conversation_id, input, response, size)
       SELECT 'resp_' || id || '_' || n, tenant_id, id, 'model', 'resp_' || id || '_' || n, '[]', '{}', 4
         FROM user_account, ${times(2)}`,
    `INSERT INTO harness_session (id, tenant_id, user_id, home_tenant_id, title, workspace, workspace_identity, model_name,
         permission_mode, approval_policy, idempotency_key, idempotency_hash)
       SELECT gen_random_uuid(), tenant_id, id, tenant_id, 'Session', 'none', 'none', 'model', 'READ_ONLY', 'ON_REQUEST', 'key ' || n,
              repeat('0', 64) FROM user_account, ${times(2)}`,
    `INSERT INTO harness_run (id, tenant_id, session_id, user_id, home_tenant_id, requirement, permission_mode, approval_policy,
         budget, status, phase, idempotency_key, idempotency_hash, model_name, ended_at)
       SELECT gen_random_uuid(), tenant_id, id, user_id, tenant_id, 'Task', 'READ_ONLY', 'ON_REQUEST',
              '{"maxIterations": 1, "maxToolCalls": 1, "maxInputTokens": 1, "maxOutputTokens": 1, "maxWallTimeMillis": 1}', 'COMPLETED', 'BUILD',
              'key ' || n, repeat('0', 64), 'model', now() FROM harness_session, ${times(2)}`,
    `INSERT INTO harness_event (run_id, sequence, tenant_id, session_id, type, data)
       SELECT id, n, tenant_id, session_id, 'run.created', '{}' FROM harness_run, ${times(5)}`,
  ];
  for (const statement of statements) await query(statement);
  await query('ANALYZE');
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}
export interface ApiDescription {
  readonly paths: Readonly<Record<string, { get?: { parameters?: readonly Parameter[] } }>>;
}

/** Parameters of lists that are read by page or by limit. */
const PAGED = ['pageNum', 'pageSize', 'limit', 'after'];

/** What the parameters that a list needs name, as SQL of one row of tenant 000000. */
const NAMED_ROWS: Readonly<Record<string, string>> = {
  knowledgeId: `SELECT max(id) AS id FROM knowledge_base WHERE tenant_id = '000000'`,
  groupId: `SELECT max(id) AS id FROM user_group WHERE tenant_id = '000000'`,
  roleId: `SELECT min(id) AS id FROM role WHERE tenant_id = '000000'`,
  sessionId: `SELECT s.id FROM harness_session s JOIN user_account u ON u.id = s.user_id WHERE u.user_name = 'admin' AND s.tenant_id = '000000' ORDER BY s.id LIMIT 1`,
  runId: `SELECT r.id FROM harness_run r JOIN user_account u ON u.id = r.user_id WHERE u.user_name = 'admin' AND r.tenant_id = '000000' ORDER BY r.session_id, r.id LIMIT 1`,
  id: `SELECT r.id FROM stored_response r JOIN user_account u ON u.id = r.user_id WHERE u.user_name = 'admin' AND r.tenant_id = '000000' LIMIT 1`,
};

/** The addresses of all lists of the API, with rows of tenant 000000 in the place of their parameters. */
export async function listAddresses(api: ApiDescription, query: Query): Promise<string[]> {
  const values = new Map<string, string>();
  for (const [name, sql] of Object.entries(NAMED_ROWS)) {
    const [row] = (await query(sql)) as { id: unknown }[];
    values.set(name, String(row?.id));
  }
  return Object.entries(api.paths).flatMap(([path, { get }]) => {
    const parameters = get?.parameters ?? [];
    if (!parameters.some(({ name }) => PAGED.includes(name))) return [];
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => values.get(name) ?? '0');
    const search = new URLSearchParams();
    for (const { name, in: place, required } of parameters) {
      if (place === 'query' && (required || name === 'knowledgeId')) {
        search.set(name, values.get(name) ?? '1');
      }
      if (name === 'pageSize' || name === 'limit') search.set(name, '20');
    }
    return [`${address}?${search.toString()}`];
  });
}
