export {
  allOf,
  anyOf,
  clauses,
  either,
  english,
  languageOf,
  literal,
  msg,
  sentences,
  textFor,
  textIn,
  withTexts,
} from './message.js';
export type { Language, Message } from './message.js';
