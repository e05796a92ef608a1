export { languageOf, textFor, textIn } from './translation.js';
export type { Language } from './translation.js';
export {
  allOf,
  anyOf,
  clauses,
  either,
  english,
  enumeration,
  literal,
  msg,
  sentences,
  withTexts,
} from './message.js';
export type { Message } from './message.js';
