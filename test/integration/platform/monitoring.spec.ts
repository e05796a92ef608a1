import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { diagnosisOf, Metrics } from '../../../src/platform/observability/index.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { ADMIN_PASSWORD, SECRET_KEY } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

interface LimitRow {
  readonly id: number;
  readonly use: { readonly used: number } | null;
}

const deploy = fileURLToPath(new URL('../../../deploy', import.meta.url));
const alertsFile = join(deploy, 'prometheus', 'alerts.yaml');
const alerts = readFileSync(alertsFile, 'utf8');
const alertNames = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
const alertQueries = [...alerts.matchAll(/expr: '(.+)'/g)].map(([, query = '']) => query);
const board = JSON.parse(readFileSync(join(deploy, 'grafana', 'plinth.json'), 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const boardQueries = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** Samples that fire each alert: values at intervals of a minute (promtool, unit testing for rules). */
const FIRING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  PlinthDown: { 'up{job="plinth"}': '0x500' },
  PlinthDependencyDown: { 'plinth_dependency_up{check="queue"}': '0x500' },
  PlinthRequestsFail: {
    'plinth_http_requests_total{code="500",method="GET",route="/a"}': '0+10x500',
    'plinth_http_requests_total{code="200",method="GET",route="/a"}': '0+90x500',
  },
  PlinthDiskAlmostFull: { plinth_disk_free_bytes: '5x500', plinth_disk_size_bytes: '100x500' },
  PlinthDocumentsWait: { plinth_documents_waiting_seconds: '601x500' },
  PlinthRunsWait: { plinth_runs_waiting_seconds: '301x500' },
  PlinthLeasesExpire: { 'plinth_leases_expired{kind="run"}': '1x500' },
  PlinthPoolExhausted: { 'plinth_database_pool{state="waiting"}': '3x500' },
  PlinthEventLoopLag: { 'plinth_event_loop_lag_seconds{value="p99"}': '0.3x500' },
  PlinthModelsCoolDown: { plinth_upstream_keys_aside: '1x500' },
  PlinthModelCallsFail: {
    'plinth_upstream_calls_total{provider="a",kind="chat",outcome="timeout"}': '0+3x500',
    'plinth_upstream_calls_total{provider="a",kind="chat",outcome="ok"}': '0+7x500',
  },
  PlinthBudgetNearEnd: { plinth_budgets_near_end: '1x500' },
  PlinthAnswersKept: { plinth_answers_kept: '1x500' },
  PlinthVectorRemovalsWait: { plinth_vector_removals_waiting: '1x500' },
  PlinthBasesWithoutVectors: { plinth_bases_without_vectors: '1x500' },
};

/** A row of each kind of work whose lease has run out, with what it belongs to. */
const EXPIRED = [
  `INSERT INTO chat_session (tenant_id, user_id, turn_id, turn_lease)
     SELECT tenant_id, min(id), gen_random_uuid(), now() - interval '1 second' FROM user_account GROUP BY tenant_id`,
  `INSERT INTO knowledge_base (tenant_id, user_id, name) SELECT tenant_id, user_id, 'Base' FROM chat_session WHERE turn_id IS NOT NULL`,
  `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size, parse_requested, lease_until)
     SELECT tenant_id, id, 'doc', repeat('0', 64), 'Document', 'txt', 1, true, now() - interval '1 second' FROM knowledge_base`,
  `INSERT INTO knowledge_source (tenant_id, knowledge_id, user_id, name, kind)
     SELECT tenant_id, id, user_id, 'Source', 'git' FROM knowledge_base`,
  `INSERT INTO source_run (tenant_id, source_id, cursor, trigger, lease_until)
     SELECT tenant_id, id, gen_random_uuid(), 'schedule', now() - interval '1 second' FROM knowledge_source`,
  `INSERT INTO schedule (tenant_id, user_id, name, kind, task, missed)
     SELECT tenant_id, user_id, 'Schedule', 'chat', '{"message":"Hello"}', 'once' FROM knowledge_base`,
  `INSERT INTO schedule_fire (tenant_id, schedule_id, due_time, lease_until)
     SELECT tenant_id, id, now(), now() - interval '1 second' FROM schedule`,
  `INSERT INTO api_batch (id, tenant_id, user_id, home_tenant_id, protocol, endpoint, headers, status, expire_time, lease_until)
     SELECT 'batch_1', tenant_id, user_id, tenant_id, 'openai', '/v1/embeddings', '{}', 'in_progress', now() + interval '1 day',
            now() - interval '1 second' FROM knowledge_base`,
  `INSERT INTO api_batch_line (batch_number, position, tenant_id, custom_id, status, lease_until)
     SELECT number, 0, tenant_id, 'line', 'running', now() - interval '1 second' FROM api_batch`,
  `INSERT INTO harness_session (id, tenant_id, user_id, home_tenant_id, title, workspace, workspace_identity, model_name,
       permission_mode, approval_policy, idempotency_key, idempotency_hash)
     SELECT gen_random_uuid(), tenant_id, user_id, tenant_id, 'Session', 'none', 'none', 'model', 'READ_ONLY', 'ON_REQUEST', 'key',
            repeat('0', 64) FROM knowledge_base`,
  `INSERT INTO harness_run (id, tenant_id, session_id, user_id, home_tenant_id, requirement, permission_mode, approval_policy,
       budget, status, phase, idempotency_key, idempotency_hash, model_name, lease_until)
     SELECT gen_random_uuid(), tenant_id, id, user_id, tenant_id, 'Task', 'READ_ONLY', 'ON_REQUEST', '{}', 'RUNNING', 'BUILD', 'key',
            repeat('0', 64), 'model', now() - interval '1 second' FROM harness_session`,
];

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

describe('the metrics of a service that has worked', () => {
  let folder: string;
  let simulator: Simulator;
  let plinth: Plinth;
  let metrics: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plinth-monitoring-'));
    simulator = await startSimulator();
    plinth = await Plinth.start();
    const admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    await createModel(admin, { apiHost, apiKey: 'planted-model-key', modelName: 'sim-chat' });
    await createModel(admin, {
      apiHost,
      apiKey: 'planted-model-key',
      modelName: 'sim--status-400',
    });
    for (const model of ['sim-chat', 'sim--status-400']) {
      await sendChat(admin, { model, content: 'planted-question' });
    }
    metrics = (await admin.raw('GET', '/metrics')).text;
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('have every name and label of the alerts and the board', () => {
    const samples = metrics.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const names = new Set(samples.map((line) => /^\w+/.exec(line)?.[0]));
    const labels = new Set(
      samples.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label)),
    );
    const queries = [...alertQueries, ...boardQueries];
    const used = queries.flatMap((query) => query.match(/\b(plinth|process)_\w+/g) ?? []);
    const usedLabels = queries.flatMap((query) => [
      ...[...query.matchAll(/(\w+)(?:=~|!~|=)"/g)].map(([, label]) => label),
      ...[...query.matchAll(/by \(([\w, ]+)\)/g)].flatMap(([, list = '']) => list.split(', ')),
    ]);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
    // Prometheus adds the names of the target.
    expect(
      usedLabels.filter(
        (label) => !labels.has(label) && !['instance', 'job'].includes(label ?? ''),
      ),
    ).toEqual([]);
  });

  function value(text: string, series: string): number {
    const line = text.split('\n').find((sample) => sample.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  }

  it('count the leases of each kind of work that have run out', async () => {
    const KINDS = ['batch', 'document', 'run', 'schedule', 'source', 'turn'];
    const series = KINDS.map((kind) => `plinth_leases_expired{kind="${kind}"}`);
    const inForce = series.map((name) => value(metrics, name));
    expect(inForce).toEqual(series.map(() => 0));
    const database = plinth.app.get(Database);
    let provoked = '';
    const undone = new Error('Only for a moment.');
    // No sweep sees the rows: they are never committed.
    const rows = acrossTenants('expired leases', () =>
      database.transaction(async () => {
        for (const statement of EXPIRED) await database.query(statement);
        provoked = await plinth.app.get(Metrics).text();
        throw undone;
      }),
    );
    await expect(rows).rejects.toBe(undone);
    expect(series.map((name) => value(provoked, name))).toEqual([2, 1, 1, 1, 1, 1]);
  });

  it('count a limit of which nine tenths are used', async () => {
    const admin = await plinth.signIn();
    const limit = { scope: 'tenant', measure: 'tokens-day' };
    const { id } = done(
      await admin.post<LimitRow>('/system/limit', { ...limit, cap: 1_000_000 }),
    ).data;
    const near = async (): Promise<number> =>
      value((await admin.raw('GET', '/metrics')).text, 'plinth_budgets_near_end');
    await sendChat(admin, { model: 'sim-chat', content: 'Hello' });
    const used = await eventually(
      async () => done(await admin.get<LimitRow>(`/system/limit/${id}`)).data.use?.used ?? 0,
      (tokens) => tokens > 0,
    );
    expect(await near()).toBe(0);
    done(await admin.put('/system/limit', { id, cap: used }));
    expect(await near()).toBe(1);
    done(await admin.delete(`/system/limit/${id}`));
  });

  (hasPromtool ? it : it.skip)('answer every query of the board', () => {
    const series = metrics
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => /^(\S+?(?:\{.*\})?) (\S+)$/.exec(line))
      .flatMap((match) => (match ? [{ name: match[1] ?? '', value: Number(match[2]) }] : []))
      .filter(({ name, value }) => /^(plinth|process)_/.test(name) && Number.isFinite(value))
      .map(({ name, value }) => ({
        series: name.includes('{') ? name.replace('{', '{instance="a",') : `${name}{instance="a"}`,
        values: `${value}+${/_(total|bucket|count|sum)\b/.test(name) ? 1 : 0}x60`,
      }));
    const rules = boardQueries.map((query, at) => ({
      alert: `Query${at}`,
      expr: `count(${query}) > 0`,
    }));
    const rulesFile = join(folder, 'board.yaml');
    writeFileSync(rulesFile, JSON.stringify({ groups: [{ name: 'board', rules }] }));
    evaluate(
      rulesFile,
      series,
      rules.map(({ alert }) => alert),
      '30m',
    );
  });

  (hasPromtool ? it : it.skip)(
    'fire every alert when they are bad, and none when they are good',
    () => {
      execFileSync('promtool', ['check', 'rules', alertsFile]);
      expect(Object.keys(FIRING)).toEqual(alertNames);
      const all = Object.values(FIRING).flatMap((samples) =>
        Object.entries(samples).map(([series, values]) => ({ series, values })),
      );
      evaluate(alertsFile, all, alertNames, '7h');
      const good = all.map(({ series }) => ({
        series,
        values: /^(up|plinth_dependency_up|plinth_disk)/.test(series) ? '1x500' : '0x500',
      }));
      evaluate(alertsFile, good, [], '7h');
    },
  );

  /** Evaluates the rules over the series, and compares which alerts fire at the time. */
  function evaluate(
    rulesFile: string,
    series: readonly { series: string; values: string }[],
    firing: readonly string[],
    at: string,
  ): void {
    // Counted by name, because the labels of alerts are not the point.
    const names = firing.length === 0 ? alertNames : firing;
    const expressions = names.map((name) => ({
      expr: `count(count by (alertname) (ALERTS{alertname="${name}",alertstate="firing"}))`,
      eval_time: at,
      exp_samples: firing.length === 0 ? [] : [{ labels: '{}', value: 1 }],
    }));
    const file = join(folder, 'test.yaml');
    const tests = [{ interval: '1m', input_series: series, promql_expr_test: expressions }];
    writeFileSync(
      file,
      JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }),
    );
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], {
      encoding: 'utf8',
    });
    expect(status === 0 ? '' : stdout + stderr).toBe('');
  }

  it('are in the diagnosis, which has no secret and nothing of a tenant', async () => {
    // Calls are entered in the usage ledger a moment after their end.
    const text = await eventually(
      async () => JSON.stringify(await diagnosisOf(plinth.app)),
      (written) => written.includes('"model call"'),
    );
    expect(text).toContain('plinth_http_requests_total');
    expect(text).toContain('Traces2026121100001');
    expect(text).toContain('"chat_message"');
    expect(JSON.parse(text)).toMatchObject({
      settings: { SECRET_KEY: { isSet: true }, ROLE: 'all' },
      health: { status: expect.any(String) },
      database: {
        lastErrors: expect.arrayContaining([
          expect.objectContaining({
            place: 'model call',
            error: expect.stringMatching(/^custom_api chat /),
          }),
          expect.objectContaining({ place: 'answer', error: expect.any(String), count: 1 }),
        ]),
      },
    });
    const planted = [
      'planted-model-key',
      'planted-question',
      SECRET_KEY,
      ADMIN_PASSWORD,
      'sim-chat',
    ];
    expect(planted.filter((secret) => text.includes(secret))).toEqual([]);
    const { password } = new URL(process.env['DATABASE_URL'] ?? 'postgres://none');
    if (password !== '') expect(text).not.toContain(password);
  });
});
