const SHOWN_LINES = 12;
const SHOWN_CHARACTERS = 200;
/** Lines that occur more often say nothing about a place. */
const MOST_PLACES = 50;

/**
 * The lines of the file that are most like the block, with their numbers, for a message; undefined when no line of the
 * block is anywhere. Lines are compared without any white space and without case.
 */
export function closestRegion(
  lines: readonly string[],
  block: readonly string[],
): { readonly from: number; readonly to: number; readonly text: string } | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const key = essence(line);
    if (key === '') continue;
    const known = places.get(key);
    if (!known) places.set(key, [index]);
    else if (known.length <= MOST_PLACES) known.push(index);
  }
  const start = mostVoted(places, block);
  if (start === undefined) return undefined;
  const from = Math.max(0, start);
  const to = Math.min(lines.length, from + Math.min(Math.max(block.length, 3), SHOWN_LINES));
  return { from: from + 1, to, text: numbered(lines, from, to) };
}

/** Lines with their numbers, long ones cut. */
export function numbered(lines: readonly string[], from: number, to: number): string {
  return lines
    .slice(from, to)
    .map((line, index) => {
      const cut = line.length > SHOWN_CHARACTERS;
      const shown = cut ? `${line.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : line;
      return `${from + index + 1}: ${shown}`;
    })
    .join('\n');
}

/** Every line that both have votes for where the block would begin. */
function mostVoted(
  places: ReadonlyMap<string, readonly number[]>,
  block: readonly string[],
): number | undefined {
  const votes = new Map<number, number>();
  for (const [index, line] of block.entries()) {
    const at = places.get(essence(line)) ?? [];
    if (at.length > MOST_PLACES) continue;
    for (const place of at) votes.set(place - index, (votes.get(place - index) ?? 0) + 1);
  }
  let best: number | undefined;
  for (const [start, count] of votes) {
    const isBetter = best === undefined || count > (votes.get(best) ?? 0);
    if (isBetter) best = start;
  }
  return best;
}

function essence(line: string): string {
  return line.replaceAll(/\s+/g, '').toLowerCase();
}
