export { answered, languageOf, translated } from './translation.js';
export type { Language } from './translation.js';
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
