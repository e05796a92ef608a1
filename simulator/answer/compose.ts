import type { ScriptedToolCall } from '../behaviour/behaviour.js';
import type { ChatRequest } from '../chat/chat-request.js';
import { nextMove } from '../coder/coder.js';
import { quotesFor, summaryOf } from './extract.js';
import { isMostlyCjk } from './features.js';
import { readPrompt, standaloneQuestion } from './prompt.js';
import { quotable } from './sentences.js';
import { CHINESE, ENGLISH, type Phrases } from './phrases.js';

const LONG_INPUT = 600;
const ASKS_FOR_CONTEXT = /^You write one line of context for an excerpt/;
const ASKS_FOR_TRANSCRIPT = /^You transcribe the images of pages/;
const ASKS_FOR_SUMMARY = /summar|outline|abstract|key points|总结|概括|摘要|归纳|要点/i;

interface Composition {
  reasoning: string;
  text: string;
  toolCalls: ScriptedToolCall[];
}

/** A deterministic answer: it quotes the material that came with the question. */
export function compose(request: ChatRequest): Composition {
  if (request.tools.length > 0 && request.model.includes('coder')) return code(request);
  const standalone = standaloneQuestion(request);
  if (standalone !== undefined) return { reasoning: '', text: standalone, toolCalls: [] };
  const context = contextOf(request);
  if (context !== undefined) return { reasoning: '', text: context, toolCalls: [] };
  const transcript = transcriptOf(request);
  if (transcript !== undefined) return { reasoning: '', text: transcript, toolCalls: [] };
  const { question, passages } = readPrompt(request);
  const phrases = isMostlyCjk(question) ? CHINESE : ENGLISH;
  const toolResult = lastToolResult(request);
  const quotes = quotesFor(question, passages);
  const parts = [
    phrases.greeting(quotable(question)),
    ...describeImages(request, phrases),
    ...body({ question, passages, quotes, toolResult, phrases }),
  ];
  return {
    reasoning: phrases.thinking(quotable(question), passages.length, quotes.length),
    text: parts.join('\n\n'),
    toolCalls: [],
  };
}

/** The next move of a coding agent; text and tool calls may come together. */
function code(request: ChatRequest): Composition {
  const { say, calls } = nextMove(request);
  const names = calls.map(({ name }) => name).join(', ') || 'nothing more, I report';
  return { reasoning: `What is needed next: ${names}. `, text: say, toolCalls: [...calls] };
}

interface Material {
  question: string;
  passages: string[];
  quotes: string[];
  toolResult: string | undefined;
  phrases: Phrases;
}

function body({ question, passages, quotes, toolResult, phrases }: Material): string[] {
  if (toolResult !== undefined) return [phrases.toolResult, bullets([quotable(toolResult)])];
  const material = [...passages, question].join('\n');
  const wantsSummary = ASKS_FOR_SUMMARY.test(question) && passages.length > 0;
  if (wantsSummary || question.length > LONG_INPUT) {
    return [phrases.summary, bullets(summaryOf(wantsSummary ? passages.join('\n') : material))];
  }
  if (quotes.length > 0) return [phrases.quotes, bullets(quotes)];
  return [passages.length > 1 ? phrases.nothingFound : phrases.explanation];
}

function lastToolResult(request: ChatRequest): string | undefined {
  const last = request.messages.at(-1);
  return last?.role === 'tool' ? last.text : undefined;
}

/** Reply to a request for the context line of an excerpt: its source and its beginning. */
function contextOf({ messages }: ChatRequest): string | undefined {
  if (!messages.some(({ role, text }) => role === 'system' && ASKS_FOR_CONTEXT.test(text))) {
    return undefined;
  }
  const text = messages.at(-1)?.text ?? '';
  const name = /<document_name>\n(.*)\n/.exec(text)?.[1] ?? '';
  const excerpt = /<excerpt>\n([^]*?)\n<\/excerpt>/.exec(text)?.[1] ?? '';
  return `From ${name}, beginning with: ${excerpt.split(/\s+/).slice(0, 5).join(' ')}`;
}

/** Asked to transcribe the image of a page: what can be said of it without seeing. */
function transcriptOf({ messages }: ChatRequest): string | undefined {
  if (!messages.some(({ role, text }) => role === 'system' && ASKS_FOR_TRANSCRIPT.test(text))) {
    return undefined;
  }
  const image = messages.at(-1)?.images.at(-1);
  const { width = 0, height = 0 } = image?.size ?? {};
  return [
    '# Page image',
    `An image of type ${image?.mime ?? 'unknown'}.`,
    `| Side | Pixels |\n| --- | --- |\n| Width | ${width} |\n| Height | ${height} |`,
  ].join('\n\n');
}

function describeImages(request: ChatRequest, phrases: Phrases): string[] {
  const images = request.messages.flatMap((message) => message.images);
  return images.length === 0 ? [] : [phrases.images(images)];
}

function bullets(lines: string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
