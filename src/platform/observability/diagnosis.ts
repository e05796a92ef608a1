import { arch, availableParallelism, freemem, platform, release, totalmem, uptime } from 'node:os';
import type { INestApplicationContext } from '@nestjs/common';
import { CONFIG, variables } from '../config/index.js';
import type { Config, Variable } from '../config/index.js';
import { DiagnosisRepository } from './diagnosis.repository.js';
import { HealthService } from './health.service.js';
import { Metrics } from './metrics.js';
import { serviceVersion } from './open-api.js';

/** What support needs to know of an installation: no secret, and nothing that belongs to a tenant. */
export async function diagnosisOf(app: INestApplicationContext): Promise<object> {
  const config = app.get<Config>(CONFIG);
  return {
    time: new Date().toISOString(),
    versions: { plinth: serviceVersion(), node: process.version },
    host: {
      ...{ platform: platform(), release: release(), arch: arch() },
      ...{ processors: availableParallelism(), uptimeSeconds: Math.round(uptime()) },
      ...{ memoryBytes: totalmem(), freeMemoryBytes: freemem() },
    },
    settings: settingsOf(config),
    health: await app.get(HealthService).ready(),
    database: await app.get(DiagnosisRepository).facts(),
    metrics: (await app.get(Metrics).text()).split('\n').filter((line) => !line.startsWith('#')),
  };
}

/** Every variable with its value; secret ones say only whether they are set. */
function settingsOf(config: Config): Record<string, unknown> {
  const entries = Object.entries<Variable>(variables).map(([name, { secret = false }]) => {
    const value: unknown = config[name as keyof typeof variables];
    return [name, secret ? { isSet: value !== undefined } : (value ?? null)] as const;
  });
  return Object.fromEntries(entries);
}
