/** The language of each text is recognised. */
export const AUTOMATIC = 'auto';

/** What the words of a knowledge base are stemmed by: the text search configurations of PostgreSQL 15 and later. */
export const KNOWLEDGE_LANGUAGES = [
  AUTOMATIC,
  'arabic',
  'armenian',
  'basque',
  'catalan',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hindi',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const;
