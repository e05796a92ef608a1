/** Between the headings of a fragment, outermost first, where they are written as one text. */
export const HEADING_SEPARATOR = ' > ';

/** What stands for a fragment in both channels: its text, below the headings that it does not show itself. */
export function searchableText({
  content,
  headings,
}: {
  readonly content: string;
  readonly headings: readonly string[];
}): string {
  const missing = headings.filter((heading) => !content.includes(heading));
  return missing.length === 0 ? content : `${missing.join(HEADING_SEPARATOR)}\n\n${content}`;
}
