import { KeyFilter } from '../key-filter.js';
import type { MaskedText } from '../masked-text.js';
import type { Secrets } from '../safe-text.js';
import type { ChatPart, ProviderState, ToolCall } from './chat.adapter.js';

/** A call of a tool without the key. Its arguments are JSON in a text, so that a key can be written there in escapes. */
export function cleanedToolCall(call: ToolCall, filter: KeyFilter): ToolCall {
  const normal = JSON.stringify(call.input);
  const named = { id: filter.text(call.id), name: filter.text(call.name) };
  if (call.invalid) return { ...call, ...named, arguments: filter.text(call.arguments) };
  const isClean = [normal, call.arguments].every((text) => filter.text(text) === text);
  if (isClean) return { ...call, ...named };
  const input = filter.json(JSON.parse(normal) as Record<string, unknown>);
  return { ...named, arguments: JSON.stringify(input), input };
}

/** A state without the key: it is stored, and clients of the compatible API keep it. */
export function cleanedState({ origin, data }: ProviderState, filter: KeyFilter): ProviderState {
  return { origin, data: filter.json(data) };
}

/** What one read brought. What came before a failure is part of the answer, so it is kept beside it. */
export interface ReadParts {
  readonly parts: readonly ChatPart[];
  readonly failure?: Error;
  readonly isLast: boolean;
}

/** Cleans a streamed answer, also of a key that several pieces of it spell together. */
export class AnswerFilter {
  private readonly masked: Readonly<Record<'text-delta' | 'reasoning-delta', MaskedText>>;

  private constructor(private readonly filter: KeyFilter) {
    this.masked = { 'text-delta': filter.pieces(), 'reasoning-delta': filter.pieces() };
  }

  /** Undefined where the call has no key that could be repeated. */
  static of(secrets: Secrets): AnswerFilter | undefined {
    const filter = KeyFilter.of(secrets);
    return filter && new AnswerFilter(filter);
  }

  /** The same read without the key. The end of a text that may begin a key comes with a later read. */
  read({ parts, failure, isLast }: ReadParts): ReadParts {
    const shown = this.add(parts);
    if (failure === undefined) return { parts: shown, isLast };
    return { parts: [...shown, ...this.end()], failure: this.filter.error(failure), isLast };
  }

  private add(parts: readonly ChatPart[]): ChatPart[] {
    const shown: ChatPart[] = [];
    for (const part of parts) {
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
        const text = this.masked[part.type].add(part.text);
        if (text !== '') shown.push({ type: part.type, text });
      } else {
        shown.push(...this.end(), this.whole(part));
      }
    }
    return shown;
  }

  /** What is held back, once no text follows. */
  private end(): ChatPart[] {
    return (['reasoning-delta', 'text-delta'] as const).flatMap((type): ChatPart[] => {
      const text = this.filter.lastPiece(this.masked[type].end());
      return text === '' ? [] : [{ type, text }];
    });
  }

  private whole(part: Exclude<ChatPart, { readonly text: string }>): ChatPart {
    switch (part.type) {
      case 'tool-call':
        return { ...part, toolCall: cleanedToolCall(part.toolCall, this.filter) };
      case 'usage':
        return { ...part, usage: this.filter.json(part.usage) };
      case 'provider-state':
        return { ...part, providerState: cleanedState(part.providerState, this.filter) };
      case 'finish':
        return part.raw === undefined ? part : { ...part, raw: this.filter.text(part.raw) };
    }
  }
}
