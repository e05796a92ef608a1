import { asMessage } from '../../platform/message/index.js';
import { MaskedText } from './masked-text.js';
import { secretForms } from './safe-text.js';
import type { Secrets } from './safe-text.js';
import { UpstreamError } from './upstream.error.js';

const REMOVED = '[removed]';
/** Shorter ones are placeholders such as "ollama", which answers may hold for good reason. */
const SHORTEST_KEY = 8;
/** So much of the beginning of a key at the end of an answer is removed as well; less of it is passed on. */
const SHORTEST_BEGINNING = 6;

/** Takes the key of one call out of everything that the service answers to it, because some services repeat keys. */
export class KeyFilter {
  /** Of connections, which are never changed and serve many calls. */
  private static readonly made = new WeakMap<Secrets, KeyFilter | 'none'>();

  private constructor(private readonly forms: readonly string[]) {}

  /** Undefined where the call has no key that could be repeated. */
  static of(secrets: Secrets): KeyFilter | undefined {
    let filter = KeyFilter.made.get(secrets);
    if (filter === undefined) {
      const forms = secretForms(secrets, SHORTEST_KEY);
      filter = forms.length === 0 ? 'none' : new KeyFilter(forms);
      KeyFilter.made.set(secrets, filter);
    }
    return filter === 'none' ? undefined : filter;
  }

  readonly text = (text: string): string => {
    let clean = text;
    for (const form of this.forms) {
      if (clean.includes(form)) clean = clean.replaceAll(form, REMOVED);
    }
    return clean;
  };

  /** Cleans every text in parsed JSON, the names of properties included, in place; answers the value. */
  json<T>(value: T): T {
    const root: Record<string, unknown> = { value };
    const open: object[] = [root];
    for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
      if (Array.isArray(holder)) this.elements(holder, open);
      else this.properties(holder as Record<string, unknown>, open);
    }
    return root['value'] as T;
  }

  /** The error without the key in its message. */
  error(error: Error): Error {
    if (!(error instanceof UpstreamError) || this.text(error.message) === error.message) {
      return error;
    }
    return error.withMessage(asMessage(this.text(error.message)));
  }

  /** For a text that comes in pieces. */
  pieces(): MaskedText {
    return new MaskedText(() => this.forms, this.text);
  }

  /** For a text that comes in pieces and must be passed on as it is, or not at all. */
  watch(): KeyWatch {
    return new KeyWatch(this);
  }

  /** Cleans the end of a text, of which no more comes: it may be the beginning of a key. */
  lastPiece(text: string): string {
    const isBeginning =
      text.length >= SHORTEST_BEGINNING && this.forms.some((form) => form.startsWith(text));
    return isBeginning ? REMOVED : text;
  }

  private elements(list: unknown[], open: object[]): void {
    for (let at = 0; at < list.length; at += 1) {
      const value = list[at];
      // Vectors have a million of them.
      if (typeof value === 'number') continue;
      if (typeof value === 'string') list[at] = this.text(value);
      else if (typeof value === 'object' && value !== null) open.push(value);
    }
  }

  private properties(record: Record<string, unknown>, open: object[]): void {
    for (const [name, value] of Object.entries(record)) {
      const clean = typeof value === 'string' ? this.text(value) : value;
      const shown = this.text(name);
      if (shown !== name) Reflect.deleteProperty(record, name);
      if (shown !== name || clean !== value) record[shown] = clean;
      if (typeof clean === 'object' && clean !== null) open.push(clean);
    }
  }
}

/** Watches a text that comes in pieces for the key. */
export class KeyWatch {
  private readonly masked: MaskedText;
  /** What may begin a key. */
  private open = '';

  constructor(private readonly filter: KeyFilter) {
    this.masked = filter.pieces();
  }

  /** False: the text holds the key. */
  add(piece: string): boolean {
    const text = this.open + piece;
    const shown = this.masked.add(piece);
    this.open = text.slice(shown.length);
    return text.startsWith(shown);
  }

  /** Whether the end of the text is so much of a key that it must wait for what follows. */
  get isUnsure(): boolean {
    return this.open.length >= SHORTEST_BEGINNING;
  }

  /** Whether the text, of which no more comes, ends in the key or in a long beginning of it. */
  get endsInKey(): boolean {
    return this.filter.lastPiece(this.filter.text(this.open)) !== this.open;
  }
}
