import { numbers, wordOf } from '../knowledge/corpus.mjs';

export const DIMENSION = 384;

/** Words of a fragment without stop words, as an index has them: some 100 words of a text, or 600 characters. */
const WORDS = 60;
const VOCABULARY = 200_000;
/** Ranks that stop words would have; the most frequent word of those left is in a fifth of the fragments. */
const STOP_WORDS = 30;
const QUESTION_WORDS = 6;

const THEMES = 40;
const TOPICS = 2_000;
/** Directions in which texts of one topic differ: embeddings of texts use few of theirs. */
const DIRECTIONS = 16;
const NOISE = 65_536;

const random = numbers(7);
const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const gaussian = (length, deviation) => Float32Array.from({ length }, () => gauss() * deviation);
const unit = 1 / Math.sqrt(DIMENSION);
const themes = Array.from({ length: THEMES }, () => gaussian(DIMENSION, unit));
const topics = Array.from({ length: TOPICS }, (_, at) =>
  gaussian(DIMENSION, 0.8 * unit).map((value, place) => value + themes[at % THEMES][place]),
);
const directions = Array.from({ length: DIRECTIONS }, (_, at) =>
  gaussian(DIMENSION, (0.6 * unit) / Math.sqrt(at + 1)),
);
const noise = gaussian(NOISE + DIMENSION, 0.3 * unit);

/** The words of fragment `number`; a word has the chance of Zipf's law. */
export function wordsOf(number) {
  const next = numbers(number * 2 + 1);
  const span = Math.log(VOCABULARY / STOP_WORDS);
  return Array.from({ length: WORDS }, () =>
    wordOf(Math.floor(STOP_WORDS * Math.exp(next() * span)) - STOP_WORDS),
  );
}

/** The vector of fragment `number`, of length 1: a topic, of which few have many fragments, and what differs within it. */
export function vectorOf(number) {
  const next = numbers(number * 2);
  return vectorNear(topics[Math.floor(next() ** 2 * TOPICS)], next);
}

/** Questions of words that one fragment has, with vectors of its topic. */
export function questionsOf(count, fragments) {
  const next = numbers(fragments);
  return Array.from({ length: count }, () => {
    const number = Math.floor(next() * fragments);
    const start = Math.floor(next() * (WORDS - QUESTION_WORDS));
    return {
      text: wordsOf(number)
        .slice(start, start + QUESTION_WORDS)
        .join(' '),
      vector: vectorNear(vectorOf(number), next),
    };
  });
}

function vectorNear(centre, next) {
  const vector = Float32Array.from(centre);
  for (const direction of directions) {
    const weight = next() + next() + next() + next() - 2;
    for (let at = 0; at < DIMENSION; at += 1) vector[at] += weight * direction[at];
  }
  const offset = Math.floor(next() * NOISE);
  let square = 0;
  for (let at = 0; at < DIMENSION; at += 1) {
    vector[at] += noise[offset + at];
    square += vector[at] ** 2;
  }
  const length = Math.sqrt(square);
  return vector.map((value) => value / length);
}

/** The scores of the nearest of the first `fragments` vectors, the nearest first, by comparing with all of them. */
export function nearestScores(vectors, fragments, limit) {
  const best = vectors.map(() => []);
  const least = vectors.map(() => -1);
  for (let number = 0; number < fragments; number += 1) {
    const other = vectorOf(number);
    for (const [place, vector] of vectors.entries()) {
      let score = 0;
      for (let at = 0; at < DIMENSION; at += 1) score += vector[at] * other[at];
      if (score <= least[place]) continue;
      best[place].push(score);
      if (best[place].length < limit * 2) continue;
      best[place] = best[place].sort((a, b) => b - a).slice(0, limit);
      least[place] = best[place].at(-1);
    }
  }
  return best.map((scores) => scores.sort((a, b) => b - a).slice(0, limit));
}
