import type { InlineContent } from '../platform/access/index.js';
import { localized } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { ChatMessage, MessageState, StoredSource } from './message.entity.js';

// What clients that read only `content` get in it (docs/WIRE.md, Clients that read only content). The stored text has none
// of it, so that it is not sent to a model as history.

/** The end of an answer, as it is sent and stored. */
export interface EndedAnswer {
  readonly content: string;
  readonly state: MessageState;
  readonly finishReason: string | null;
  readonly sources: readonly StoredSource[] | null | undefined;
  /** Nothing is added to JSON, which its client parses. */
  readonly structured: boolean;
}

const CUT = msg`The answer was cut at the length limit. Ask for the rest, or raise the limit.`;

/** What follows the text of a complete answer; empty if there is nothing to add. */
export function inlineEnding(answer: EndedAnswer, inline: InlineContent): string {
  if (answer.state !== 'complete' || answer.structured) return '';
  const parts = [
    ...(inline.failures && answer.finishReason === 'length' ? [localized(CUT)] : []),
    ...(inline.sources && answer.content !== '' ? sourceParagraphs(answer.sources ?? []) : []),
  ];
  return below(answer.content, parts);
}

/** The text of a message in a list. */
export function listedContent(message: ChatMessage, inline: InlineContent): string {
  const { role, content, reasoning, state, error } = message;
  if (role !== 'assistant' || message.structured) return content;
  const failure = inline.failures && state === 'failed' && error ? [localized(error)] : [];
  return (
    (inline.thinking && reasoning ? thinkingBlock(reasoning) : '') +
    content +
    inlineEnding(message, inline) +
    below(content, failure)
  );
}

/** The thinking text cannot end its block by itself. */
function thinkingBlock(reasoning: string): string {
  return `<think>${reasoning.replaceAll(/<(?=\/?think>)/gi, '&lt;')}</think>`;
}

/** The cited sources, or all if the answer cites none. */
function sourceParagraphs(sources: readonly StoredSource[]): string[] {
  const cited = sources.filter((source) => source.cited);
  const shown = cited.length > 0 ? cited : sources;
  return shown.length === 0 ? [] : [`Sources:\n${shown.map(sourceLine).join('\n')}`];
}

function sourceLine({ number, document, page, location }: StoredSource): string {
  const place = page === null ? location : `page ${page}`;
  const name = place === null ? document : `${document}, ${place}`;
  return `- [${number}] ${name.replaceAll(/\s+/g, ' ')}`;
}

function below(content: string, paragraphs: readonly string[]): string {
  if (paragraphs.length === 0) return '';
  return `${content === '' ? '' : '\n\n'}${paragraphs.join('\n\n')}`;
}
