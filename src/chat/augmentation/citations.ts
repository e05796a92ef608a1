/** The citations of an answer. */
export interface Citations {
  /** Numbers of cited sources, ascending. */
  readonly cited: readonly number[];
  /** Cited numbers that no source has: that text is not from the documents. */
  readonly unknown: readonly number[];
}

/** [1], [1, 2], [1][2] and their full-width forms; the text of a Markdown link is not a citation. */
const MARK = /(?:\[|【)\s*(\d{1,3}(?:\s*[,，、]\s*\d{1,3})*)\s*(?:\](?!\()|】)/g;

/** Finds the cited numbers and checks them against the sources, which are numbered from 1. */
export function citationsIn(answer: string, sources: number): Citations {
  const numbers = new Set<number>();
  for (const [, list = ''] of answer.matchAll(MARK)) {
    for (const number of list.split(/[,，、]/)) numbers.add(Number(number));
  }
  const ascending = [...numbers].sort((a, b) => a - b);
  return {
    cited: ascending.filter((number) => number >= 1 && number <= sources),
    unknown: ascending.filter((number) => number < 1 || number > sources),
  };
}
