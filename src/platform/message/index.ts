export { answered } from './answered.js';
export { languageOf } from './language.js';
export type { Language } from './language.js';
export {
  allOf,
  anyOf,
  asMessage,
  asPhrase,
  cut,
  either,
  msg,
  phrase,
  sentences,
} from './message.js';
export type { Message, Phrase } from './message.js';
export { translated } from './translation.js';
