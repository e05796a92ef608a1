import type { Source, TurnPart } from '../../agent/index.js';
import { BETWEEN_STEPS, sumOfUsages, turnUsage } from '../../chat/index.js';
import type {
  ChatPart,
  FinishReason,
  ProviderState,
  ToolCall,
  Usage,
} from '../../provider/index.js';
import { UnfinishedAnswerError } from './api.errors.js';
import type { AnswerContext } from './api.request.js';
import { citationMarks } from '../../agent/index.js';

/** Parts of an answer that the client sees. */
export type SeenPart = Extract<ChatPart, { type: 'text-delta' | 'reasoning-delta' | 'tool-call' }>;

export interface AnswerUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens: number | undefined;
  readonly reasoningTokens: number | undefined;
}

/** The answer collected so far, for writers of any protocol. */
export class CollectedAnswer {
  text = '';
  reasoning = '';
  readonly calls: ToolCall[] = [];
  finish: FinishReason = 'stop';
  providerState: ProviderState | undefined;
  private usage: Usage | undefined;
  private isNewStep = false;

  constructor(private readonly isAgent: boolean) {}

  /** Adds a part and returns its visible form. */
  add(part: TurnPart): SeenPart | undefined {
    switch (part.type) {
      case 'text-delta': {
        const isBetween = this.isNewStep && this.text !== '';
        const visiblePart = isBetween ? { ...part, text: BETWEEN_STEPS + part.text } : part;
        this.isNewStep = false;
        this.text += visiblePart.text;
        return visiblePart;
      }
      case 'reasoning-delta':
        this.reasoning += part.text;
        return part;
      case 'tool-call':
        if (this.isAgent) return undefined;
        this.calls.push(part.toolCall);
        return part;
      case 'provider-state':
        if (!this.isAgent) this.providerState = part.providerState;
        return undefined;
      case 'usage':
        this.usage = sumOfUsages(this.usage, part.usage);
        return undefined;
      case 'finish':
        this.finish = part.reason;
        return undefined;
      case 'step':
        this.isNewStep = true;
        return undefined;
      case 'tool-result':
      case 'waiting':
      case 'limit':
        return undefined;
    }
  }

  /** Throws if the service reported an incomplete answer. */
  checkWhole(): void {
    if (this.finish === 'error') throw new UnfinishedAnswerError();
  }

  /** Usage reported by the service, or estimated. */
  usageOf({ messages }: AnswerContext): AnswerUsage {
    const written = this.text + this.reasoning + this.calls.map((call) => call.arguments).join('');
    const { inputTokens, outputTokens, totalTokens } = turnUsage(this.usage, messages, written);
    const { cachedInputTokens, reasoningTokens } = this.usage ?? {};
    return { inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens };
  }
}

/** A citation in an answer. */
export interface Citation {
  /** Range of the brackets in UTF-16 code units. */
  readonly start_index: number;
  readonly end_index: number;
  readonly title: string;
  /** URL that identifies the fragment; it has no page. */
  readonly url: string;
  /** The number of the source. */
  readonly source: number;
}

/** Citations of existing sources. */
export function citationsOf(text: string, sources: readonly Source[]): Citation[] {
  return citationMarks(text).flatMap(({ number, start, end }) => {
    const source = sources.find((one) => one.number === number);
    if (!source) return [];
    const { document: title } = source;
    return [
      { start_index: start, end_index: end, title, url: urlOf(source), source: source.number },
    ];
  });
}

export function urlOf({ knowledgeId, docId, fid, url }: Source): string {
  if (url !== undefined) return url;
  return `plinth://knowledge/${knowledgeId}/${encodeURIComponent(docId)}#${encodeURIComponent(fid)}`;
}
