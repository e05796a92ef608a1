import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { storableText } from '../../store/storable.js';
import { ToolError } from '../../fault/tool.error.js';
import type { OfferFacts, RunTool, RunToolDecision } from '../tool.js';

const input = z.strictObject({
  question: z.string().trim().min(1).max(4_000),
  options: z
    .array(z.string().trim().min(1).max(500))
    .max(6)
    .default([])
    .describe('Answers to choose from; the user may answer otherwise.'),
});
type Input = z.infer<typeof input>;

/** Asks the user, and lets the run wait for the answer. */
@Injectable()
export class AskUserTool implements RunTool<Input> {
  readonly name = 'ask_user';
  readonly effectClass = 'META';
  readonly input = input;
  readonly description =
    'Asks the user one question and waits for the answer, which may take hours. Ask only what neither the workspace nor the task can tell and what would make the work useless if you guessed wrong.';

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  title({ question }: Input): string {
    return `ask: ${question.split('\n', 1)[0] ?? ''}`;
  }

  refusal({ approvalPolicy, mayAsk }: OfferFacts): string | undefined {
    if (approvalPolicy === 'NEVER') return 'No one is asked in this session. Decide yourself.';
    return mayAsk ? undefined : 'Questions are turned off here.';
  }

  async decide({ question, options }: Input): Promise<RunToolDecision> {
    if (!this.config.HARNESS_ASK_USER) {
      throw new ToolError(
        'TOOL_NOT_OFFERED',
        'Questions are turned off here. Decide yourself, and say in your answer what you assumed.',
      );
    }
    return {
      kind: 'ask',
      question: { text: storableText(question), options: options.map(storableText) },
      summary: 'asked the user',
    };
  }
}
