import { coverage, featuresOf } from './features.js';
import { quotable, sentencesOf } from './sentences.js';

/** A sentence has to share this much of the question to be worth quoting. */
const MIN_COVERAGE = 0.2;
const MAX_QUOTES = 3;
const ENDS_AS_INTRODUCTION = /[:：]$/;
const PASSAGE_NUMBER = /^\s*\[(\d+)\]/;

interface Candidate {
  text: string;
  score: number;
  order: number;
}

/** The sentences that answer the question best, best first, with their passage number if any. */
export function quotesFor(question: string, passages: readonly string[]): string[] {
  const questionFeatures = featuresOf(question);
  const candidates = passages.flatMap((passage) => {
    const mark = PASSAGE_NUMBER.exec(passage)?.[1];
    return sentencesOf(passage.replace(PASSAGE_NUMBER, '')).map((sentence) => ({
      text: mark === undefined ? quotable(sentence) : `${quotable(sentence)} [${mark}]`,
      score: coverage(questionFeatures, featuresOf(sentence)),
    }));
  });
  const best = pickBest(candidates.map((candidate, order) => ({ ...candidate, order })));
  return best.map((candidate) => candidate.text);
}

/** The leading sentence and the ones that share most with the whole text, in their own order. */
export function summaryOf(text: string): string[] {
  const whole = featuresOf(text);
  const sentences = sentencesOf(text).filter((sentence) => !ENDS_AS_INTRODUCTION.test(sentence));
  const [lead, ...others] = sentences;
  if (lead === undefined) return [];
  const ranked = others
    .map((sentence, order) => ({
      text: quotable(sentence),
      score: coverage(whole, featuresOf(sentence)),
      order,
    }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_QUOTES - 1)
    .toSorted((a, b) => a.order - b.order);
  return [quotable(lead), ...ranked.map((candidate) => candidate.text)];
}

function pickBest(candidates: Candidate[]): Candidate[] {
  const best = Math.max(0, ...candidates.map((candidate) => candidate.score));
  const picked: Candidate[] = [];
  for (const candidate of candidates.toSorted((a, b) => b.score - a.score || a.order - b.order)) {
    const isRelevant = candidate.score >= Math.max(MIN_COVERAGE, best / 2);
    const isNew = picked.every((other) => other.text !== candidate.text);
    if (isRelevant && isNew && picked.length < MAX_QUOTES) picked.push(candidate);
  }
  return picked;
}
