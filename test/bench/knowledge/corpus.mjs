/** A deterministic stream of numbers between 0 and 1 (mulberry32), so that every run measures the same texts. */
export function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SYLLABLES =
  'ba be bi bo da de di do fa fe fi fo ga go ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so ta te ti to'.split(
    ' ',
  );

/** A word of the vocabulary; its number is its rank, so word 0 is the most frequent one. */
export const wordOf = (rank) => {
  let rest = rank + SYLLABLES.length;
  let word = '';
  while (rest > 0) {
    word += SYLLABLES[rest % SYLLABLES.length];
    rest = Math.floor(rest / SYLLABLES.length);
  }
  return word;
};

const VOCABULARY = 20_000;

/** Ranks as in a natural text: the chance of a word is about one over its rank (Zipf). */
const rankOf = (random) => Math.floor(Math.exp(random() * Math.log(VOCABULARY))) - 1;

/** Texts of `paragraphs` paragraphs of about 60 words each; each paragraph becomes one fragment. */
export function documents(count, paragraphs, seed = 1) {
  const random = numbers(seed);
  return Array.from({ length: count }, (_, number) => ({
    name: `document-${number}.txt`,
    text: Array.from({ length: paragraphs }, () => paragraph(random)).join('\n\n'),
  }));
}

function paragraph(random) {
  const words = Array.from({ length: 60 }, () => wordOf(rankOf(random)));
  return `${words.slice(0, 30).join(' ')}. ${words.slice(30).join(' ')}.`;
}

/** Questions of eight words of the texts themselves, of which some are rare and some are everywhere. */
export function questions(texts, count, seed = 2) {
  const random = numbers(seed);
  return Array.from({ length: count }, () => {
    const words = texts[Math.floor(random() * texts.length)].text.split(/[^a-z]+/);
    const start = Math.floor(random() * (words.length - 8));
    return words.slice(start, start + 8).join(' ');
  });
}
