import { HumanMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
import type {
  AgentRuntime,
  AgentTool,
  RuntimeTurn,
  ToolOutcome,
  TurnPart,
} from '../../src/agent/index.js';
import { ToolFailure } from '../../src/agent/tool/agent-tool.js';
import { Handover } from '../../src/agent/runtime/handover.js';
import type { LangChainLoader } from '../../src/agent/runtime/langchain.loader.js';
import { toLangChainMessages } from '../../src/langchain/index.js';
import type { PlinthChatModel } from '../../src/langchain/index.js';
import type { ChatPart } from '../../src/provider/index.js';

// The examples of docs/AGENTS.md.

const input = z.strictObject({
  text: z.string().max(20_000).describe('The text whose words are counted.'),
});

/** A tool, as a file of src/agent/tool has it. */
export class CountWordsTool implements AgentTool<z.infer<typeof input>> {
  readonly name = 'count_words';
  readonly description = 'Counts the words of a text of up to 20,000 characters.';
  readonly input = input;

  async run({ text }: z.infer<typeof input>): Promise<ToolOutcome> {
    const words = text.split(/\s+/).filter((word) => word !== '');
    if (words.length === 0) throw new ToolFailure('The text has no words. Send the text itself.');
    return { content: `${words.length} words`, summary: `counted ${words.length} words` };
  }
}

const CORRECT = 'Correct your answer. Write the corrected answer only.';

/** A runtime of LangGraph: a draft, which the client does not see, and a call that corrects it. */
export class CorrectingRuntime implements AgentRuntime {
  readonly code = 'correcting';
  readonly description = 'A draft, and a second call of the model that corrects it';
  readonly usesTools = false;

  constructor(private readonly langchain: LangChainLoader) {}

  async *answer(turn: RuntimeTurn): AsyncGenerator<readonly TurnPart[], void, void> {
    const left = new AbortController();
    const signal = AbortSignal.any([turn.signal, left.signal]);
    const parts = new Handover<readonly TurnPart[]>();
    const work = this.run(turn, parts, signal).then(
      () => parts.end(),
      (error: unknown) => parts.end({ error }),
    );
    try {
      yield* parts.read();
    } finally {
      left.abort();
      await work;
    }
  }

  private async run(
    turn: RuntimeTurn,
    parts: Handover<readonly TurnPart[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const langchain = await this.langchain.load();
    const model = (onParts: (read: readonly ChatPart[]) => Promise<void>): PlinthChatModel => {
      const { attempts, ...limits } = turn.limits;
      const options = { ...turn.generation, use: turn.use, limits, attempts, signal, onParts };
      return langchain.chatModelOf(turn.model, options);
    };
    // Of the draft only its usage counts.
    const drafting = model(async (read) => {
      const usage = read.filter(({ type }) => type === 'usage');
      if (usage.length > 0) await parts.put(usage);
    });
    const correcting = model((read) => parts.put(read));
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('draft', async ({ messages }) => ({ messages: [await drafting.invoke(messages)] }))
      .addNode('correct', async ({ messages }) => ({
        messages: [await correcting.invoke([...messages, new HumanMessage(CORRECT)])],
      }))
      .addEdge(START, 'draft')
      .addEdge('draft', 'correct')
      .addEdge('correct', END)
      .compile();
    await graph.invoke({ messages: toLangChainMessages(turn.messages) }, { signal });
  }
}
