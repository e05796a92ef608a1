import type { ChatRequest } from '../chat/chat-request.js';
import { isMostlyCjk } from './features.js';
import { paragraphsOf } from './sentences.js';

/** The parts of a request that an answer is made of. */
interface Prompt {
  question: string;
  /** Passages handed over together with the question. */
  passages: string[];
}

const MAX_QUESTION_CHARS = 300;
const MIN_PASSAGE_CHARS = 30;
const MIN_CJK_PASSAGE_CHARS = 12;
const QUESTION_LABEL = /^(?:(?:user )?question|query|问题|用户问题|提问)\s*[:：]\s*/i;
const ENDS_AS_QUESTION = /[?？]\s*$/;
/** Directions to the model are no material to quote. */
const IS_INSTRUCTION = /^(?:you (?:are|must|should)|answer|use |please|do not|你是|请|回答|不要)/i;
const FRAGMENT = /<fragment number="(\d+)"[^>]*>\n([^]*?)\n<\/fragment>/g;
const ASKS_FOR_REWRITING = /^Rewrite the last question/;
const ENDS_AS_INTRODUCTION = /[:：]\s*$/;

/** Separates the question from the retrieved material, wherever the caller has put the latter. */
export function readPrompt(request: ChatRequest): Prompt {
  const user = numbered(lastUserText(request));
  const system = request.messages
    .filter((message) => message.role === 'system')
    .flatMap((message) => paragraphsOf(message.text));
  const question = labelledLine(user) ?? findQuestion(paragraphsOf(user));
  const material = [...system, ...paragraphsOf(user.replace(question, () => ''))];
  return {
    question: question.replace(QUESTION_LABEL, ''),
    passages: material.filter(isPassage),
  };
}

/** Asked to make a follow-up question standalone: the question before it says what it is about. */
export function standaloneQuestion(request: ChatRequest): string | undefined {
  const text = lastUserText(request);
  if (!ASKS_FOR_REWRITING.test(text)) return undefined;
  const question = /^Question: (.*)$/m.exec(text)?.[1] ?? '';
  const before = [...text.matchAll(/^user: (.*)$/gm)].at(-1)?.[1] ?? '';
  return `${before} ${question}`.trim();
}

function lastUserText(request: ChatRequest): string {
  return request.messages.findLast((message) => message.role === 'user')?.text ?? '';
}

/** Quoted fragments as passages with their number in front, each of their paragraphs by itself. */
function numbered(text: string): string {
  return text.replace(FRAGMENT, (_, number: string, content: string) =>
    content
      .split(/\n\s*\n/)
      .map((paragraph) => `[${number}] ${paragraph.trim()}`)
      .join('\n\n'),
  );
}

function labelledLine(text: string): string | undefined {
  return text.split('\n').find((line) => QUESTION_LABEL.test(line));
}

function findQuestion(paragraphs: string[]): string {
  const short = paragraphs.filter((paragraph) => paragraph.length <= MAX_QUESTION_CHARS);
  return (
    // The question stands first or last; a question inside the material is not the one asked.
    [short.at(0), short.at(-1)].find((paragraph) => ENDS_AS_QUESTION.test(paragraph ?? '')) ??
    short.at(0) ??
    paragraphs.at(0) ??
    ''
  );
}

function isPassage(paragraph: string): boolean {
  if (ENDS_AS_INTRODUCTION.test(paragraph) || IS_INSTRUCTION.test(paragraph)) return false;
  return paragraph.length >= (isMostlyCjk(paragraph) ? MIN_CJK_PASSAGE_CHARS : MIN_PASSAGE_CHARS);
}
