const DEPTH = 10;

/** nDCG@10 as trec_eval has it: the grade itself is the gain, halved with the logarithm of the place. */
export function ndcg(ranked, relevant) {
  const ideal = gain([...relevant.values()].sort((a, b) => b - a));
  return ideal === 0 ? 0 : gain(ranked.map((id) => relevant.get(id) ?? 0)) / ideal;
}

function gain(grades) {
  return grades
    .slice(0, DEPTH)
    .reduce((sum, grade, place) => sum + grade / Math.log2(place + 2), 0);
}

export function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

export function percentile(numbers, part) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
