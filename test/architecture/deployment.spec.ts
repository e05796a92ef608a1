import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { variables } from '../../src/platform/config/index.js';

const chart = join('deploy', 'helm');
/** The oldest release of Kubernetes that the chart allows (Chart.yaml), and one of now. */
const KUBERNETES = ['1.27', '1.37'];
const python = process.env['PLINTH_PYTHON'] ?? '';
const hasHelm = spawnSync(python, ['-c', 'import helm_python, kubernetes_validate']).status === 0;
if (!hasHelm)
  process.stdout.write(
    'Skipped: PLINTH_PYTHON names no Python with helm-python-sdk and kubernetes-validate, so the chart is not rendered.\n',
  );

/** Renders the chart with the library of Helm 4, and holds its resources against the schemas of Kubernetes. */
const RENDER = `
import json, sys, helm_python, kubernetes_validate, yaml
chart, settings, releases = sys.argv[1], sys.argv[2], sys.argv[3].split(',')
with helm_python.Chart.load(chart) as loaded:
    values = helm_python.parse_set_string(settings) if settings else {}
    texts = loaded.render(values, name='plinth', namespace='default', revision=1).values()
resources = [one for text in texts for one in yaml.safe_load_all(text) if one]
for release in releases:
    for one in resources:
        kubernetes_validate.validate(one, release, strict=True)
problems = helm_python.lint(chart)['errors']
print(json.dumps({'resources': resources, 'problems': problems}))
`;

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
  const args = ['-c', RENDER, chart, settings.join(','), KUBERNETES.join(',')];
  const { resources, problems } = JSON.parse(execFileSync(python, args, { encoding: 'utf8' })) as {
    resources: Resource[];
    problems: string[];
  };
  expect(problems).toEqual([]);
  return resources;
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
    const podOf = (name: string) =>
      resources.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)?.spec
        .template.spec;
    expect(podOf('plinth-worker')).toMatchObject({
      containers: [
        {
          env: expect.arrayContaining([{ name: 'WORKER_PORT', value: '6040' }]),
          ports: [{ name: 'probes', containerPort: 6040 }],
          livenessProbe: { httpGet: { path: '/health/live', port: 'probes' } },
          readinessProbe: { httpGet: { path: '/health/ready', port: 'probes' } },
        },
      ],
    });
    expect(podOf('plinth-api')).toMatchObject({
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

describe('compose.yaml', () => {
  const compose = parse(readFileSync('compose.yaml', 'utf8'), { merge: true }) as {
    services: Record<string, Service>;
  };
  interface Service {
    environment?: Record<string, string>;
    healthcheck?: { test?: string[] };
    ports?: string[];
    profiles?: string[];
    mem_limit?: string;
    pids_limit?: number;
    command?: string[];
  }

  it('limits every service, and opens ports of this machine only but for the proxy', () => {
    for (const [name, { ports = [], profiles, mem_limit, pids_limit }] of Object.entries(
      compose.services,
    )) {
      expect([name, mem_limit, pids_limit]).toEqual([
        name,
        expect.stringMatching(/\d[gm]\}?$/),
        expect.any(Number),
      ]);
      if (!profiles) for (const port of ports) expect(port).toContain('127.0.0.1:');
    }
  });

  it('asks the worker for liveness at the port that it answers', () => {
    const { worker } = compose.services;
    const port = worker?.environment?.['WORKER_PORT'];
    expect(worker?.healthcheck?.test?.at(-1)).toContain(`:${port}/health/live`);
  });

  it('sets settings that there are, and a password for each server', () => {
    const { plinth, redis } = compose.services;
    const names = Object.keys(plinth?.environment ?? {});
    // The AWS SDK reads its own.
    for (const name of names.filter((one) => !one.startsWith('AWS_'))) {
      expect(Object.keys(variables)).toContain(name);
    }
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'QDRANT_API_KEY', 'SECRET_KEY']) {
      expect(plinth?.environment?.[name]).toMatch(/\$\{\w+:\?put \w+ into \.env/);
    }
    expect(redis?.command).toContain('--requirepass');
  });
});
