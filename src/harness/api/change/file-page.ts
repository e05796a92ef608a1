import { Input, Whole } from '../../../platform/http/index.js';

/** Files of one page unless a request says how many. */
export const FILES_PER_PAGE = 500;
const MOST_FILES_PER_PAGE = 1_000;

/** Which of the changed files of a run are answered, in the order of their paths. */
export const filePageFields = {
  pageNum: Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' }),
  pageSize: Whole({
    optional: true,
    min: 1,
    max: MOST_FILES_PER_PAGE,
    description: `Files a page; ${FILES_PER_PAGE} by default`,
  }),
};

export class FilePageQuery extends Input(filePageFields) {}

interface FilePage<File> {
  readonly files: readonly File[];
  /** There are more after them. */
  readonly more: boolean;
}

export function filePage<File>(
  all: readonly File[],
  { pageNum = 1, pageSize = FILES_PER_PAGE }: FilePageQuery,
): FilePage<File> {
  const first = (pageNum - 1) * pageSize;
  return { files: all.slice(first, first + pageSize), more: all.length > first + pageSize };
}
