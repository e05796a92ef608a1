import { Injectable } from '@nestjs/common';
import type { Config } from '../../platform/config/index.js';
import { Dependencies } from '../../platform/dependency/index.js';
import { Installation } from '../../platform/storage/index.js';
import { QdrantPointsRepository } from './qdrant-points.repository.js';
import { QdrantVectorStore } from './qdrant.vector-store.js';

const REQUEST_TIMEOUT_MS = 30_000;

/** Opens Qdrant for this installation. */
@Injectable()
export class QdrantFactory {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly installation: Installation,
    private readonly points: QdrantPointsRepository,
  ) {}

  /** Undefined without QDRANT_URL. */
  async open(config: Config): Promise<QdrantVectorStore | undefined> {
    if (config.QDRANT_URL === undefined) return undefined;
    const { id, vectorPrefix } = await this.installation.identity();
    const settings = {
      url: config.QDRANT_URL,
      apiKey: config.QDRANT_API_KEY,
      prefix: config.QDRANT_PREFIX ?? vectorPrefix,
      timeoutMs: REQUEST_TIMEOUT_MS,
    };
    const owner = {
      id,
      takesOver: config.INSTALLATION_RENEW,
      countKnown: (...[points]: Parameters<QdrantPointsRepository['countKnown']>) =>
        this.points.countKnown(points),
    };
    return new QdrantVectorStore(settings, owner, this.dependencies.of('vectorStore'));
  }
}
