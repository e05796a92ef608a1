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

/** How the tag begins that would have opened it. */
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
  known: Findings | undefined,
): boolean {
  const learned = known?.get(OPENED_FINDING);
  if (learned !== undefined) return learned !== NOT_OPENED;
  return protocol === 'chat-completions' && OPENED_BY_TEMPLATE.test(model);
}

/** What a streamed answer has taught: it began inside of thinking, or did not although that was expected. */
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
  private held = '';
  private closing = LONE_CLOSING;
  private hasThought = false;
  /** No closing tag stands alone any more: the text is about tags, or thinking has come apart from it. */
  private hasOpening = false;
  /** Nothing of the thinking between two tags has come but white space. */
  private isBlank = true;
  private consumed = '';
  /** The answer is taken to begin inside of thinking, until a tag or thinking apart from the text shows. */
  private isAssumed = false;
  /** A closing tag stood alone after text that was passed on. */
  hasClosedAlone = false;
  /** The piece before, also one that was passed by. */
  previous = '';

  /** False: pieces without `<` can be passed by. */
  get isHolding(): boolean {
    return this.phase !== 'text' || this.held !== '';
  }

  /** Something other than white space is held back. */
  get holdsText(): boolean {
    return this.held.trim() !== '';
  }

  /** What stood before the text, with its tags and to the letter; empty without thinking. */
  get verbatim(): string {
    return this.hasThought && !this.isAssumed ? this.consumed : '';
  }

  /** What was taken for thinking, and that no tag has ended; empty otherwise. */
  get unclosed(): string {
    return this.isAssumed && this.hasThought ? this.consumed : '';
  }

  /** The template of the model has written the opening tag. To be called before anything is added. */
  beginInside(): void {
    this.isAssumed = true;
  }

  /** Thinking has come apart from the text, so that no closing tag stands alone. */
  skipLoneClosing(): void {
    this.hasOpening = true;
    if (this.phase === 'start') this.isAssumed = false;
  }

  /** `isJson`: the text is to be JSON. */
  add(piece: string, isJson: boolean): Segment[] {
    const segments: Segment[] = [];
    this.held += piece;
    if (this.phase !== 'text') this.consumed += piece;
    while (this.step(segments, isJson));
    return segments;
  }

  /** What is held back, once nothing follows. */
  end(): Segment[] {
    const { held, phase } = this;
    this.held = '';
    this.phase = 'text';
    if (phase === 'inside') return segmentOf(true, held.trimEnd());
    if (this.hasThought && phase === 'start') return segmentOf(false, held.trimStart());
    return segmentOf(false, held);
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
    const begun = this.held.trimStart();
    if (begun === '') return false;
    const tag = TAGS.find(([opening]) => begun.startsWith(opening));
    if (tag !== undefined) {
      this.isAssumed = false;
      return this.beginThinking(tag[1], begun.slice(tag[0].length));
    }
    if (TAGS.some(([opening]) => opening.startsWith(begun))) return false;
    if (this.isAssumed) return this.beginThinking(LONE_CLOSING, begun);
    if (isJson && !this.hasThought && !/^[[{`"]/.test(begun)) {
      this.phase = 'before-json';
      return true;
    }
    if (this.hasThought) this.held = begun;
    this.beginText();
    return this.readText(segments);
  }

  private beginThinking(closing: string, held: string): boolean {
    this.phase = 'inside';
    this.hasThought = true;
    this.closing = closing;
    this.held = held;
    this.isBlank = true;
    return true;
  }

  private readThinking(segments: Segment[]): boolean {
    const { closing } = this;
    if (this.isBlank) this.held = this.held.trimStart();
    const { held } = this;
    const at = held.indexOf(closing);
    if (at >= 0) {
      segments.push(...segmentOf(true, held.slice(0, at).trimEnd()));
      this.held = held.slice(at + closing.length);
      this.phase = 'start';
      this.isAssumed = false;
      return true;
    }
    // White space at the end of the thinking is left out.
    const sure = held.slice(0, held.length - lengthOfBegun(held, closing)).trimEnd();
    this.isBlank &&= sure === '';
    segments.push(...segmentOf(true, sure));
    this.held = held.slice(sure.length);
    return false;
  }

  private readBeforeJson(segments: Segment[]): boolean {
    const at = this.held.indexOf(LONE_CLOSING);
    if (at < 0) return false;
    segments.push(...segmentOf(true, this.held.slice(0, at).trim()));
    this.held = this.held.slice(at + LONE_CLOSING.length);
    this.hasThought = true;
    this.phase = 'start';
    return true;
  }

  private beginText(): void {
    this.phase = 'text';
    this.consumed = this.consumed.slice(0, this.consumed.length - this.held.length);
  }

  /**
   * Text that was passed on cannot be taken back, so that a closing tag alone only separates it from what follows: the tag is left
   * out, unless the text is about it.
   */
  private readText(segments: Segment[]): boolean {
    const { held } = this;
    const canClose = !this.hasThought && !this.hasOpening;
    const at = canClose ? held.indexOf(LONE_CLOSING) : -1;
    if (canClose && at >= 0 && !this.isMention(held, at)) {
      this.hasOpening = true;
      this.hasClosedAlone = true;
      this.held = '';
      const isApart = /\s$/.test(at === 0 ? this.previous : held.slice(0, at));
      const rest = held.slice(at + LONE_CLOSING.length);
      segments.push(...segmentOf(false, `${held.slice(0, at)}${isApart ? '' : '\n\n'}${rest}`));
      return false;
    }
    const begun = canClose && at < 0 ? lengthOfBegunTag(held) : 0;
    const sure = held.slice(0, held.length - begun);
    if (sure.includes(OPENING)) this.hasOpening = true;
    this.held = held.slice(sure.length);
    if (sure !== '') this.previous = sure;
    segments.push(...segmentOf(false, sure));
    return false;
  }

  private isMention(held: string, at: number): boolean {
    if (held.slice(0, at).includes(OPENING)) return true;
    const before = (at === 0 ? this.previous : held.slice(0, at)).slice(-1);
    const after = held.charAt(at + LONE_CLOSING.length);
    return isQuote(before) || isQuote(after);
  }
}

/** Splits the text of an answer that came in one piece: there, all that stands before a closing tag alone is thinking. */
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

/** Where the closing tag stands that has no opening tag and is not quoted; -1 without one. */
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
