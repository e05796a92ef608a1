import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AgentService } from '../agent/index.js';
import { AttachService } from '../attach/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { isRefused, UploadEngine } from '../platform/storage/index.js';

/** Documents of the demo's knowledge base: enough that a question has one right answer, and that two sound alike. */
const demoDocuments: readonly { readonly name: string; readonly text: string }[] = [
  {
    name: 'travel-policy.md',
    text: `# Travel policy

## Booking

Trips of more than two days need the approval of the team lead before anything is booked. Trains are preferred to
flights for journeys of less than five hours.

## Hotels

Up to 140 euros a night are paid back without asking, 180 euros in London, Paris and Zurich. Breakfast is included.

## Expenses

Receipts are handed in within 30 days after the end of the trip. The daily allowance is 28 euros for a full day and 14
euros for the days of arrival and departure.
`,
  },
  {
    name: 'equipment.md',
    text: `# Equipment

## Laptops

Every laptop has a warranty of three years from the day of purchase. A broken one is replaced by the service desk within
two working days; call extension 4711.

## Returning equipment

Equipment is returned on the last working day. What is missing is charged at its book value.
`,
  },
  {
    name: '休假制度.md',
    text: `# 休假制度

## 年假

员工每年享有二十五天年假。未休完的年假可以保留到次年三月三十一日。

## 病假

病假超过三天需要提供医生证明。
`,
  },
];

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
