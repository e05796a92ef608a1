import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import type { Failure } from '../platform/error/index.js';
import { Id, Input, Text } from '../platform/http/index.js';
import { referenceOf } from '../agent/index.js';
import type { SourceReference } from '../agent/index.js';
import { ApiAnswers, CollectedAnswer } from '../compatible-api/index.js';
import type { AnswerWriter, ApiRequest } from '../compatible-api/index.js';

export class AskAgentInput extends Input({
  agentId: Id({ description: 'Of list_agents' }),
  question: Text({ max: 100_000, description: 'The question, with all that the agent must know' }),
}) {}

/** A question to an agent. Its stream is the text of the answer. */
class AgentQuestion implements ApiRequest {
  readonly stream = true;
  readonly relay = undefined;
  readonly body = {};
  readonly names: ApiRequest['names'] = {
    message: () => 'question',
    messages: 'question',
    format: 'format',
    formatParts: { type: 'format', name: 'format', schema: 'format' },
    parallelToolCalls: 'parallelToolCalls',
    imageDetail: 'detail',
    strictTool: () => 'tools',
    effort: 'effort',
  };

  readonly model: string;
  readonly answer = new CollectedAnswer(true);
  sources: readonly SourceReference[] = [];

  constructor({ agentId, question }: AskAgentInput) {
    this.model = `agent-${agentId}`;
    this.question = question;
  }

  private readonly question: string;

  translate(): ReturnType<ApiRequest['translate']> {
    return { messages: [{ role: 'user', content: this.question }], format: undefined };
  }

  writer(): AnswerWriter {
    return {
      add: (parts) =>
        parts
          .map((part) => this.answer.add(part))
          .map((part) => (part?.type === 'text-delta' ? part.text : ''))
          .join(''),
      end: ({ sources = [] }) => {
        this.answer.checkWhole();
        this.sources = sources.map(referenceOf);
        return '';
      },
      whole: () => ({}),
    };
  }

  failureEvent(): string {
    return '';
  }
}

interface AgentAnswer {
  readonly answer: string;
  readonly sources: readonly SourceReference[];
}

/** Asks agents as POST /v1/chat/completions does: the same rights, limits, usage and number of open answers. */
@Injectable()
export class AgentQuestions {
  constructor(private readonly answers: ApiAnswers) {}

  /** `onText` takes the text as it comes. */
  async ask(
    caller: Caller,
    input: AskAgentInput,
    { signal, onText }: { signal: AbortSignal; onText: (text: string) => Promise<void> },
  ): Promise<AgentAnswer | { readonly failure: Failure }> {
    const question = new AgentQuestion(input);
    const detached = this.answers.detached(caller, question, async (text) => {
      if (text.length > 0) await onText(text.toString());
    });
    const end = (): void => detached.end();
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    const failure = await detached.run();
    signal.removeEventListener('abort', end);
    return failure ? { failure } : { answer: question.answer.text, sources: question.sources };
  }
}
