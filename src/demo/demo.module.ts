import { Module } from '@nestjs/common';
import type { DynamicModule, OnApplicationBootstrap } from '@nestjs/common';
import type { Config } from '../platform/config/index.js';
import { inTenant } from '../platform/database/index.js';
import { AgentModule } from '../agent/index.js';
import { AttachModule } from '../attach/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { ProviderModule } from '../provider/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { DemoKnowledge } from './demo.knowledge.js';
import { DEMO_TENANT, DemoSeed } from './demo.seed.js';
import { DemoSimulator } from './demo.simulator.js';

/** The offline demo: simulated model services, so that a first start can chat without network or keys. */
@Module({})
export class DemoModule implements OnApplicationBootstrap {
  constructor(
    private readonly simulator: DemoSimulator,
    private readonly seed: DemoSeed,
  ) {}

  /** Returns the module if the configuration turns the demo on, else an empty list. */
  static for(config: Config): DynamicModule[] {
    if (!config.demo) return [];
    return [
      {
        module: DemoModule,
        imports: [
          ProviderModule,
          ModelModule,
          StorageModule,
          KnowledgeModule,
          AttachModule,
          AgentModule,
        ],
        providers: [DemoSimulator, DemoSeed, DemoKnowledge],
      },
    ];
  }

  async onApplicationBootstrap(): Promise<void> {
    const url = await this.simulator.url;
    await inTenant(DEMO_TENANT, () => this.seed.apply(url));
  }
}
