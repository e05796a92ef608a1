import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AgentService } from '../agent/index.js';
import { AttachService } from '../attach/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { isRefused, UploadEngine } from '../platform/storage/index.js';
import { demoDocuments } from './demo.documents.js';

const NAME = 'Demo handbook';

/** A knowledge base with a few documents, and an agent that answers from it. */
@Injectable()
export class DemoKnowledge {
  constructor(
    private readonly knowledge: KnowledgeService,
    private readonly documents: AttachService,
    private readonly uploads: UploadEngine,
    private readonly agents: AgentService,
  ) {}

  /** Creates them; the documents are parsed in the background. */
  async create(
    caller: Caller,
    models: { readonly embedding: string; readonly chatId: number },
  ): Promise<void> {
    await this.knowledge.create(caller, {
      name: NAME,
      share: 1,
      description: 'A company handbook in miniature, for trying out retrieval.',
      embeddingModel: models.embedding,
      textBlockSize: 400,
      overlapChar: 0,
      similarityThreshold: 0,
      enableHybrid: 1,
      retrieveLimit: 4,
    });
    const { rows } = await this.knowledge.list(caller, { name: NAME });
    const id = rows[0]?.id;
    if (id === undefined) return;
    const base = await this.knowledge.writable(caller, id);
    for (const { name, text } of demoDocuments) {
      const source = Readable.from([Buffer.from(text)]);
      const received = await this.uploads.receive(source, name, new AbortController().signal);
      if (!isRefused(received)) {
        await this.documents.create(caller, base, received, { autoParse: true });
      }
    }
    await this.agents.create(caller, {
      agentName: 'Handbook clerk',
      agentDescribe: 'Answers from the demo handbook and names its sources',
      modelId: models.chatId,
      knowledgeIds: [id],
      systemPrompt:
        'You answer questions of employees from the company handbook, briefly and exactly.',
    });
  }
}
