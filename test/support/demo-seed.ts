import { AgentService } from '../../src/agent/index.js';
import { AttachService } from '../../src/attach/index.js';
import { DemoKnowledge } from '../../src/demo/demo.knowledge.js';
import { DemoSeed } from '../../src/demo/demo.seed.js';
import { KnowledgeService } from '../../src/knowledge/index.js';
import { ModelService } from '../../src/model/index.js';
import { TenantRevision } from '../../src/platform/access/index.js';
import { CONFIG } from '../../src/platform/config/index.js';
import type { Config } from '../../src/platform/config/index.js';
import { UploadEngine } from '../../src/platform/storage/index.js';
import { ProviderService } from '../../src/provider/index.js';
import type { Plinth } from './plinth.js';

/** The records of the offline demo as the service makes them, under other settings where they are given. */
export function demoSeedOf({ app }: Plinth, settings: Partial<Config> = {}): DemoSeed {
  const find = <T>(token: abstract new (...given: never[]) => T): T =>
    app.get<T>(token, { strict: false });
  return new DemoSeed(
    { ...app.get<Config>(CONFIG, { strict: false }), ...settings },
    find(ProviderService),
    find(ModelService),
    new DemoKnowledge(
      find(KnowledgeService),
      find(AttachService),
      find(UploadEngine),
      find(AgentService),
    ),
    find(TenantRevision),
  );
}
