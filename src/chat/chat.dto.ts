import { Decimal, Flag, flag, Id, Text, Texts, View, Whole } from '../platform/http/index.js';

/** One message to a model. Fields that the documented clients do not send are optional additions. */
export class SendBody {
  @Text({
    max: 1_000_000,
    description: 'The message of the user',
    example: 'Hello, what can you do?',
  })
  content: string;

  @Text({
    optional: true,
    max: 200,
    description: 'modelName of a chat model; blank means the tenant’s first enabled one',
  })
  model?: string;

  @Id({
    optional: true,
    description: 'A session of the caller, whose history is sent to the model',
  })
  sessionId?: number;

  @Id({
    optional: true,
    description:
      'An enabled agent; its model and knowledge bases take precedence over those given here',
  })
  agentId?: number;

  @Id({ optional: true, description: 'A knowledge base that the caller may read' })
  knowledgeId?: number;

  @Flag({ optional: true, description: 'Request thinking text from models that support it' })
  enableThinking?: boolean;

  @Decimal({ optional: true, min: 0, max: 2 })
  temperature?: number;

  @Decimal({ optional: true, min: 0, max: 1 })
  topP?: number;

  @Whole({ optional: true, min: 1, max: 1_000_000, description: 'Maximum tokens of the answer' })
  maxTokens?: number;

  @Texts({ optional: true, maxItems: 8, max: 100, description: 'Stop sequences' })
  stop?: string[];
}

export class StopView extends View({
  stopped: flag({ description: 'False when there was no running answer' }),
}) {}
