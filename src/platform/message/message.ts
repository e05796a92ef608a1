declare const MESSAGE: unique symbol;
declare const PHRASE: unique symbol;

/**
 * A text of the API that people read: what happened, then what to do. English; the catalogue has its template in other
 * languages. Made by `msg` where the text is written.
 */
export type Message = string & { readonly [MESSAGE]: true };

/** A part of a message that is translated with it, such as "The knowledge base". Made by `phrase`. */
export type Phrase = string & { readonly [PHRASE]: true };

type Value = string | number;

/**
 * A message with its values: msg`The model ${name} is disabled. Enable it.` The tag leaves the text as it is; by the tag, the
 * compiler knows messages from other texts and the suite of the catalogue finds their templates.
 */
export function msg(template: TemplateStringsArray, ...values: readonly Value[]): Message {
  return String.raw({ raw: template }, ...values) as Message;
}

/** A part of a message, with its values. */
export function phrase(template: TemplateStringsArray, ...values: readonly Value[]): Phrase {
  return String.raw({ raw: template }, ...values) as Phrase;
}

/** A text that was a message before it was stored, sent or caught, or that another program wrote. */
export function asMessage(text: string): Message {
  return text as Message;
}

/** A part of a message that another program wrote. */
export function asPhrase(text: string): Phrase {
  return text as Phrase;
}

/** Joins the words of a choice: a, b, or c. */
export function either(words: readonly string[]): Phrase {
  const [first = '', second, ...others] = words;
  if (second === undefined) return asPhrase(first);
  if (others.length === 0) return phrase`${first} or ${second}`;
  return phrase`${words.slice(0, -1).join(', ')}, or ${others.at(-1) ?? ''}`;
}

/** Joins the words with "or": a or b or c. */
export function anyOf(words: readonly string[]): Phrase {
  return asPhrase(words.reduce((list, word) => phrase`${list} or ${word}`));
}

/** Joins the words with "and": a and b and c. */
export function allOf(words: readonly string[]): Phrase {
  return asPhrase(words.reduce((list, word) => phrase`${list} and ${word}`));
}

/** Joins several messages to one. */
export function sentences(messages: readonly Message[]): Message {
  return asMessage(messages.join(' '));
}

/** The beginning of a message, for a column of the given length. */
export function cut(message: Message, length: number): Message {
  return asMessage(message.slice(0, length));
}

/** The texts of a language: a template of the sources and the same in that language. */
export interface Texts {
  readonly messages: Readonly<Record<string, string>>;
  readonly phrases: Readonly<Record<string, string>>;
}
