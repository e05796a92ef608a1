import { systemCaller, TenantRevision } from '../../src/platform/access/index.js';
import type { Caller } from '../../src/platform/access/index.js';
import { ModelResolver } from '../../src/model/index.js';
import type {
  ResolvedChatModel,
  ResolvedEmbeddingModel,
  ResolvedRerankModel,
} from '../../src/model/index.js';
import type { Plinth } from './plinth.js';

const TENANT = '000000';

/** Resolves models as a request of the first tenant does that begins now. */
export class CalledModels {
  private readonly resolver: ModelResolver;

  constructor(private readonly plinth: Plinth) {
    this.resolver = plinth.app.get(ModelResolver, { strict: false });
  }

  async chat(id: number): Promise<ResolvedChatModel> {
    return this.resolver.resolveChatById(await this.asker(), id);
  }

  async embedding(modelName: string): Promise<ResolvedEmbeddingModel> {
    return this.resolver.resolveEmbedding(await this.asker(), modelName);
  }

  async rerank(modelName: string): Promise<ResolvedRerankModel> {
    return this.resolver.resolveRerank(await this.asker(), modelName);
  }

  private async asker(): Promise<Caller> {
    const revision = await this.plinth.app.get(TenantRevision).current(TENANT);
    return systemCaller(TENANT, revision);
  }
}
