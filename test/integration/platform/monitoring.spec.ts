import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { diagnosisOf } from '../../../src/platform/observability/index.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { ADMIN_PASSWORD, SECRET_KEY } from '../../support/template.js';

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
  PlinthLeasesExpire: { plinth_runs_lease_expired: '1x500' },
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
    const text = JSON.stringify(await diagnosisOf(plinth.app));
    expect(text).toContain('plinth_http_requests_total');
    expect(text).toContain('Traces2026121100001');
    expect(text).toContain('"chat_message"');
    expect(JSON.parse(text)).toMatchObject({
      settings: { SECRET_KEY: { isSet: true }, ROLE: 'all' },
      health: { status: expect.any(String) },
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
