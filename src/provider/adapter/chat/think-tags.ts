import type { Findings } from '../refused-parameters.js';
import type { ChatProtocolName } from './chat.adapter.js';
import { lengthOfBegun } from './stop-sequences.js';

/**
 * Thinking that stands in the text of an answer, between tags at its start. Services write it so whose server does not know the
 * format of the model: DeepSeek R1, Qwen3, GLM and MiniMax M2 (`<think>`), Gemini's compatible endpoint (`<thought>`), Seed-OSS,
 * Kimi-VL and Magistral. Tags later in the text are text: an answer may be about them.
 */
const TAGS: readonly (readonly [opening: string, closing: string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<seed:think>', '</seed:think>'],
  ['◁think▷', '◁/think▷'],
  ['[THINK]', '[/THINK]'],
];

/** The closing tag that a template leaves when it has written the opening tag itself (DeepSeek R1, Qwen3 Thinking, QwQ, GLM Z1). */
const LONE_CLOSING = '</think>';

/** The beginning of the opening tag. */
const OPENING = '<think';

/** Models whose template always writes the opening tag, by their names (chat templates at Hugging Face, 2026-11). */
const OPENED_BY_TEMPLATE = /deepseek[-_/. ]?r1|\bqwq\b|qwen3[\w.-]*thinking|glm-z1/i;

/** The finding whether answers of a model begin inside of thinking: '' or NOT_OPENED. */
export const OPENED_FINDING = 'unopened thinking';
export const NOT_OPENED = 'not';

/** Whether a streamed answer of the model begins inside of thinking, as far as that is known. */
export function beginsInside(
  protocol: ChatProtocolName,
  model: string,
  facts: Findings | undefined,
): boolean {
  const learned = facts?.get(OPENED_FINDING);
  if (learned !== undefined) return learned !== NOT_OPENED;
  return protocol === 'chat-completions' && OPENED_BY_TEMPLATE.test(model);
}

/** The finding from a streamed answer: it began inside of thinking, or did not although that was expected. */
export function openedFinding(isOpened: boolean): Findings {
  return new Map([[OPENED_FINDING, isOpened ? '' : NOT_OPENED]]);
}

const QUOTES = '`"\'“”‘’「」『』«»';

export interface Segment {
  readonly isThinking: boolean;
  readonly text: string;
}

/** Splits the text of one answer, which comes in pieces, into thinking and text. */
export class ThinkTags {
  /**
   * `start`: nothing but white space and the beginning of a tag has come. `inside`: an opening tag has come. `before-json`: what has
   * come is no JSON, so that it is thinking if a closing tag follows. `text`: the rest is text.
   */
  private phase: 'start' | 'inside' | 'before-json' | 'text' = 'start';
  private buffer = '';
  private closing = LONE_CLOSING;
  private hasThought = false;
  /** An unpaired closing tag no longer ends thinking: the text is about tags, or thinking has come apart from it. */
  private hasOpening = false;
  /** Only white space has come of the thinking between two tags. */
  private isBlank = true;
  private consumed = '';
  /** The answer is taken to begin inside of thinking, until a tag or thinking apart from the text shows. */
  private isAssumed = false;
  /** An unpaired closing tag came after text that was passed on. */
  hasClosedAlone = false;
  /** The piece before, also one that was passed by. */
  previous = '';

  /** False: pieces without `<` can be passed by. */
  get isHolding(): boolean {
    return this.phase !== 'text' || this.buffer !== '';
  }

  /** The buffer holds something other than white space. */
  get holdsText(): boolean {
    return this.buffer.trim() !== '';
  }

  /** The thinking before the text, verbatim with its tags; empty without thinking. */
  get verbatim(): string {
    return this.hasThought && !this.isAssumed ? this.consumed : '';
  }

  /** Text that was taken for thinking and that no tag has ended; empty otherwise. */
  get unclosed(): string {
    return this.isAssumed && this.hasThought ? this.consumed : '';
  }

  /** The template of the model has written the opening tag. To be called before anything is added. */
  beginInside(): void {
    this.isAssumed = true;
  }

  /** Thinking has come apart from the text, so that no closing tag is unpaired. */
  skipLoneClosing(): void {
    this.hasOpening = true;
    if (this.phase === 'start') this.isAssumed = false;
  }

  /** `isJson`: the text is to be JSON. */
  add(piece: string, isJson: boolean): Segment[] {
    const segments: Segment[] = [];
    this.buffer += piece;
    if (this.phase !== 'text') this.consumed += piece;
    while (this.step(segments, isJson));
    return segments;
  }

  /** Returns the buffered text, once nothing follows. */
  end(): Segment[] {
    const { buffer, phase } = this;
    this.buffer = '';
    this.phase = 'text';
    if (phase === 'inside') return segmentOf(true, buffer.trimEnd());
    if (this.hasThought && phase === 'start') return segmentOf(false, buffer.trimStart());
    return segmentOf(false, buffer);
  }

  /** Whether something is left to be looked at. */
  private step(segments: Segment[], isJson: boolean): boolean {
    switch (this.phase) {
      case 'start':
        return this.readStart(segments, isJson);
      case 'inside':
        return this.readThinking(segments);
      case 'before-json':
        return this.readBeforeJson(segments);
      case 'text':
        return this.readText(segments);
    }
  }

  private readStart(segments: Segment[], isJson: boolean): boolean {
    const beginning = this.buffer.trimStart();
    if (beginning === '') return false;
    const tag = TAGS.find(([opening]) => beginning.startsWith(opening));
    if (tag !== undefined) {
      this.isAssumed = false;
      return this.beginThinking(tag[1], beginning.slice(tag[0].length));
    }
    if (TAGS.some(([opening]) => opening.startsWith(beginning))) return false;
    if (this.isAssumed) return this.beginThinking(LONE_CLOSING, beginning);
    if (isJson && !this.hasThought && !/^[[{`"]/.test(beginning)) {
      this.phase = 'before-json';
      return true;
    }
    if (this.hasThought) this.buffer = beginning;
    this.beginText();
    return this.readText(segments);
  }

  private beginThinking(closing: string, rest: string): boolean {
    this.phase = 'inside';
    this.hasThought = true;
    this.closing = closing;
    this.buffer = rest;
    this.isBlank = true;
    return true;
  }

  private readThinking(segments: Segment[]): boolean {
    const { closing } = this;
    if (this.isBlank) this.buffer = this.buffer.trimStart();
    const { buffer } = this;
    const at = buffer.indexOf(closing);
    if (at >= 0) {
      segments.push(...segmentOf(true, buffer.slice(0, at).trimEnd()));
      this.buffer = buffer.slice(at + closing.length);
      this.phase = 'start';
      this.isAssumed = false;
      return true;
    }
    // White space at the end of the thinking is left out.
    const sure = buffer.slice(0, buffer.length - lengthOfBegun(buffer, closing)).trimEnd();
    this.isBlank &&= sure === '';
    segments.push(...segmentOf(true, sure));
    this.buffer = buffer.slice(sure.length);
    return false;
  }

  private readBeforeJson(segments: Segment[]): boolean {
    const at = this.buffer.indexOf(LONE_CLOSING);
    if (at < 0) return false;
    segments.push(...segmentOf(true, this.buffer.slice(0, at).trim()));
    this.buffer = this.buffer.slice(at + LONE_CLOSING.length);
    this.hasThought = true;
    this.phase = 'start';
    return true;
  }

  private beginText(): void {
    this.phase = 'text';
    this.consumed = this.consumed.slice(0, this.consumed.length - this.buffer.length);
  }

  /**
   * Text that was passed on cannot be taken back, so that a closing tag alone only separates it from what follows: the tag is left
   * out, unless the text is about it.
   */
  private readText(segments: Segment[]): boolean {
    const { buffer } = this;
    const canClose = !this.hasThought && !this.hasOpening;
    const at = canClose ? buffer.indexOf(LONE_CLOSING) : -1;
    if (canClose && at >= 0 && !this.isMention(buffer, at)) {
      this.hasOpening = true;
      this.hasClosedAlone = true;
      this.buffer = '';
      const isApart = /\s$/.test(at === 0 ? this.previous : buffer.slice(0, at));
      const rest = buffer.slice(at + LONE_CLOSING.length);
      segments.push(...segmentOf(false, `${buffer.slice(0, at)}${isApart ? '' : '\n\n'}${rest}`));
      return false;
    }
    const partialLength = canClose && at < 0 ? lengthOfBegunTag(buffer) : 0;
    const sure = buffer.slice(0, buffer.length - partialLength);
    if (sure.includes(OPENING)) this.hasOpening = true;
    this.buffer = buffer.slice(sure.length);
    if (sure !== '') this.previous = sure;
    segments.push(...segmentOf(false, sure));
    return false;
  }

  private isMention(text: string, at: number): boolean {
    if (text.slice(0, at).includes(OPENING)) return true;
    const before = (at === 0 ? this.previous : text.slice(0, at)).slice(-1);
    const after = text.charAt(at + LONE_CLOSING.length);
    return isQuote(before) || isQuote(after);
  }
}

/** Splits the text of a complete answer: all that stands before an unpaired closing tag is thinking. */
export function splitThinking(text: string, hasOtherThinking: boolean): SplitAnswer {
  const tags = new ThinkTags();
  const lone = hasOtherThinking ? -1 : loneClosingIn(text);
  if (lone >= 0) {
    const rest = text.slice(lone + LONE_CLOSING.length).trimStart();
    const verbatim = text.slice(0, text.length - rest.length);
    return { thinking: text.slice(0, lone).trim(), text: rest, verbatim };
  }
  tags.skipLoneClosing();
  const segments = [...tags.add(text, false), ...tags.end()];
  const joined = (isThinking: boolean): string =>
    segments
      .filter((segment) => segment.isThinking === isThinking)
      .map((segment) => segment.text)
      .join('');
  return { thinking: joined(true), text: joined(false), verbatim: tags.verbatim };
}

interface SplitAnswer {
  readonly thinking: string;
  readonly text: string;
  readonly verbatim: string;
}

/** The position of a closing tag that has no opening tag and is not quoted; -1 without one. */
function loneClosingIn(text: string): number {
  const at = text.indexOf(LONE_CLOSING);
  if (at < 0 || text.lastIndexOf(OPENING, at) >= 0) return -1;
  const isQuoted = isQuote(text.charAt(at - 1)) || isQuote(text.charAt(at + LONE_CLOSING.length));
  return isQuoted ? -1 : at;
}

function isQuote(character: string): boolean {
  return character !== '' && QUOTES.includes(character);
}

function lengthOfBegunTag(text: string): number {
  return Math.max(lengthOfBegun(text, LONE_CLOSING), lengthOfBegun(text, OPENING));
}

function segmentOf(isThinking: boolean, text: string): Segment[] {
  return text === '' ? [] : [{ isThinking, text }];
}
