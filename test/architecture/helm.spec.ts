import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { variables } from '../../src/platform/config/index.js';

const chart = join('deploy', 'helm');
const hasHelm = spawnSync('helm', ['version']).status === 0;
if (!hasHelm)
  process.stdout.write('Skipped: helm is not installed, so the chart is not rendered.\n');

interface Container {
  command?: string[];
  env?: { name: string }[];
  securityContext: object;
  livenessProbe?: object;
  readinessProbe?: object;
  resources: { limits: { memory: string } };
}

interface Resource {
  kind: string;
  metadata: { name: string };
  spec: {
    template: { spec: { terminationGracePeriodSeconds?: number; containers: Container[] } };
    metrics: { pods?: { metric: { name: string } }; external?: { metric: { name: string } } }[];
  };
}

function render(...settings: string[]): Resource[] {
  const args = ['template', 'plinth', chart, ...settings.flatMap((one) => ['--set', one])];
  return parseAllDocuments(execFileSync('helm', args, { encoding: 'utf8' })).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const resource = document.toJS() as Resource | null;
    return resource ? [resource] : [];
  });
}

describe('the chart for Kubernetes', () => {
  it('names settings that there are, and the version of the package', () => {
    const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as {
      settings: Record<string, string>;
    };
    for (const name of Object.keys(values.settings)) expect(Object.keys(variables)).toContain(name);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as {
      appVersion: string;
    };
    expect(appVersion).toBe(version);
  });

  (hasHelm ? it : it.skip)('runs api, worker and migration with the least rights', () => {
    const resources = render();
    expect(resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
      'ConfigMap plinth-settings',
      'Deployment plinth-api',
      'Deployment plinth-worker',
      'Job plinth-migration-1',
      'NetworkPolicy plinth',
      'PodDisruptionBudget plinth-api',
      'PodDisruptionBudget plinth-worker',
      'Service plinth',
      'ServiceAccount plinth',
    ]);
    for (const { spec } of resources.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))) {
      const [container] = spec.template.spec.containers;
      expect(container).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { limits: { memory: expect.stringMatching(/^\d+[GM]i$/) } },
      });
      for (const { name } of container?.env ?? []) expect(Object.keys(variables)).toContain(name);
    }
    const api = resources.find(({ metadata }) => metadata.name === 'plinth-api')?.spec.template
      .spec;
    expect(api).toMatchObject({
      terminationGracePeriodSeconds: 325,
      containers: [
        {
          livenessProbe: { httpGet: { path: '/health/live' } },
          readinessProbe: { httpGet: { path: '/health/ready' } },
        },
      ],
    });
  });

  (hasHelm ? it : it.skip)('scales by metrics that there are', () => {
    const resources = render(
      ...['api.autoscaling.enabled=true', 'worker.autoscaling.enabled=true'],
      ...[
        'ingress.enabled=true',
        'ingress.tlsSecret=tls',
        'dataClaim=data',
        'workspacesClaim=work',
      ],
    );
    const metrics = resources
      .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
      .flatMap(({ spec }) => spec.metrics.map((one) => (one.pods ?? one.external)?.metric.name));
    expect(metrics).toEqual(['plinth_open_streams', 'plinth_documents_waiting_seconds']);
    const source = readFileSync(join('docs', 'OPERATIONS.md'), 'utf8');
    for (const name of metrics) expect(source).toContain(`\`${name}\``);
    expect(resources.map(({ kind }) => kind)).toContain('Ingress');
  });
});
