import { decoratedTypes } from './decorated-types.mjs';
import { plainWords } from './plain-words.mjs';
import { restrictedSyntax } from './restricted-syntax.mjs';

/** Plinth's own rules, as oxlint loads them. */
export default {
  meta: { name: 'plinth' },
  rules: {
    'decorated-types': decoratedTypes,
    'plain-words': plainWords,
    'restricted-syntax': restrictedSyntax,
  },
};
