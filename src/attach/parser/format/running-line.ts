/** Stands where a header or footer shows the number of the page. */
export const PAGE_NUMBER = '\u0000';

/** Letters around the number of a page at most: "Page of", "Seite von", "第 页 共 页". */
const PAGE_WORDS = 12;

/**
 * The text of a line of a header or footer without what it says about the number of the page: a part between tabs that
 * only names it is left out as a whole.
 */
export function runningLine(text: string): string {
  return text
    .split('\t')
    .map((part) => {
      if (!part.includes(PAGE_NUMBER)) return part.trim();
      const words = part.replaceAll(PAGE_NUMBER, '').replace(/\s+/g, ' ').trim();
      return words.replace(/[^\p{L}\p{N}]/gu, '').length > PAGE_WORDS ? words : '';
    })
    .filter((part) => part !== '')
    .join('\t');
}
