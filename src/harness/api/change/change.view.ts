import {
  flag,
  Input,
  integer,
  list,
  nullable,
  numbers,
  oneOf,
  optional,
  text,
  texts,
  uuid,
  View,
  Whole,
} from '../../../platform/http/index.js';
import { CONFLICTS } from '../../engine/undo/undo.inspection.js';
import type { ConflictReason } from '../../engine/undo/undo.inspection.js';
import type { FileKind } from '../../protocol/tool-call.js';

/** Files of one page unless a request says how many. */
export const FILES_PER_PAGE = 500;
const MAX_FILES_PER_PAGE = 1_000;

/** Selects a page of a run's changed files, ordered by path. */
export const filePageFields = {
  pageNum: Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' }),
  pageSize: Whole({
    optional: true,
    min: 1,
    max: MAX_FILES_PER_PAGE,
    description: `Files a page; ${FILES_PER_PAGE} by default`,
  }),
};

export class FilePageQuery extends Input(filePageFields) {}

interface FilePage<File> {
  readonly files: readonly File[];
  /** Whether more files follow. */
  readonly more: boolean;
}

export function filePage<File>(
  all: readonly File[],
  { pageNum = 1, pageSize = FILES_PER_PAGE }: FilePageQuery,
): FilePage<File> {
  const first = (pageNum - 1) * pageSize;
  return { files: all.slice(first, first + pageSize), more: all.length > first + pageSize };
}

const OPS = ['CREATE', 'UPDATE', 'DELETE'];
const KIND = oneOf<FileKind>(['file', 'link', 'folder'], {
  description: 'What is there now, or was there before',
});
/** Net change of one file by a run, from before its first change to after its last. */
export class FileDiffView extends View({
  path: text({ example: 'src/add.js' }),
  op: oneOf(OPS),
  kind: KIND,
  additions: nullable(integer({ description: 'Lines; null for what is no text' })),
  deletions: nullable(integer({ description: 'Lines; null for what is no text' })),
  diff: text({ description: 'Unified, at most 64 KiB' }),
  truncated: flag({ description: 'The diff is cut, or left out because there is too much' }),
}) {}

/** Changes of a run, without those that were undone. */
export class RunDiffView extends View({
  text: optional(text({ description: 'All diffs as one text; with format=unified' })),
  files: optional(list(FileDiffView, { description: 'With format=json' })),
  additions: integer({ description: 'Lines, of all pages' }),
  deletions: integer({ description: 'Lines, of all pages' }),
  etag: text({ description: 'Another one whenever the difference is' }),
  truncated: flag({ description: 'A diff is cut or left out, or there is another page' }),
  total: integer({ description: 'Changed files of all pages' }),
  more: flag({ description: 'More files follow on the next page' }),
  notice: nullable(text({ description: 'What is left out and how to get it, for people' })),
}) {}

/** A file that a run has changed. */
export class ChangedFileView extends View({
  path: text({ example: 'src/add.js' }),
  op: oneOf(OPS),
  kind: KIND,
  additions: nullable(integer({ description: 'Lines; null for what is no text' })),
  deletions: nullable(integer({ description: 'Lines; null for what is no text' })),
  changeIds: numbers({ description: 'Its changes that are not undone, oldest first' }),
  undoneChangeIds: numbers({ description: 'Its changes that are undone, oldest first' }),
  undoable: flag({ description: 'All its changes that are not undone could be undone now' }),
  reason: nullable(
    oneOf<ConflictReason | 'UNDONE' | 'RUN_ACTIVE' | 'WORKSPACE_GONE'>(
      [...CONFLICTS, 'UNDONE', 'RUN_ACTIVE', 'WORKSPACE_GONE'],
      { description: 'Why it cannot be undone' },
    ),
  ),
  message: nullable(text({ description: 'The reason, for people' })),
}) {}

/** Complete content of which the model saw a part. */
export class ArtifactView extends View({
  artifactId: uuid(),
  toolCallId: nullable(uuid()),
  kind: text({ example: 'output' }),
  mediaType: text({ example: 'text/plain' }),
  byteSize: integer(),
  sha256: text(),
  createdAt: integer({ example: 1_769_884_200_000, description: 'Milliseconds' }),
}) {}

export class UndoConflictView extends View({
  path: text({ example: 'src/add.js' }),
  changeIds: numbers(),
  reason: oneOf<ConflictReason>(CONFLICTS),
  message: text({ example: 'The file was changed since. Its present content would be lost.' }),
}) {}

/** Result of an undo or redo. */
export class UndoResultView extends View({
  changeIds: numbers({ description: 'The changes that are undone now, or done again' }),
  files: texts({ description: 'The files that they changed' }),
  conflicts: list(UndoConflictView, { description: 'What was left out, with force' }),
}) {}
