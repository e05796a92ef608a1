import type { Comparison } from '../change/file-changes.js';
import { cutLines, shortened, visibleLine } from '../protocol/values.js';
import type { ApprovalPreview, PreviewFile } from '../protocol/policy.js';
import type { PlannedFile } from '../workspace/file-operation.js';

/** What a person who is asked sees of a call, made from its arguments alone. */
export interface ShownCall {
  readonly summary: string;
  readonly preview: ApprovalPreview;
}

const SUMMARY_CHARACTERS = 400;
const NAMED_FILES = 5;
const PATH_CHARACTERS = 200;
/** All diffs of one call. */
const DIFF_BYTES = 64 * 1024;

const VERBS = { CREATE: 'create', UPDATE: 'change', DELETE: 'delete' } as const;

const NO_PREVIEW: ApprovalPreview = {
  command: null,
  files: [],
  diff: null,
  diffTruncated: false,
};

/** A call that neither runs a command nor changes a file. */
export function shownTitle(title: string): ShownCall {
  return { summary: shortened(title, SUMMARY_CHARACTERS), preview: NO_PREVIEW };
}

/** The command itself; a long one is cut in the middle of the summary, and is whole in the preview. */
export function shownCommand(command: string): ShownCall {
  return {
    summary: `run ${shortened(visibleLine(command), SUMMARY_CHARACTERS)}`,
    preview: { ...NO_PREVIEW, command },
  };
}

/** The files, the size of their change, and its diff. */
export function shownFiles(
  planned: readonly PlannedFile[],
  comparisons: readonly Comparison[],
): ShownCall {
  const files = planned.map(({ operation: { path, op, before, after } }, index): PreviewFile => {
    const { additions = null, deletions = null } = comparisons[index] ?? {};
    const sizes = { sizeBefore: before?.size ?? null, sizeAfter: after?.size ?? null };
    return { path, op, additions, deletions, ...sizes };
  });
  const named = files.slice(0, NAMED_FILES).map(fileText);
  const more = files.length - named.length;
  const { text, cut } = cutLines(comparisons.map(({ diff }) => diff).join(''), DIFF_BYTES);
  return {
    summary: `${named.join('; ')}${more > 0 ? `; and ${more} more files` : ''}`,
    preview: {
      command: null,
      files,
      diff: text,
      diffTruncated: cut || comparisons.some(({ diffTruncated }) => diffTruncated),
    },
  };
}

function fileText(file: PreviewFile): string {
  const { path, op, additions, deletions, sizeBefore, sizeAfter } = file;
  const size =
    additions === null || deletions === null
      ? `${sizeBefore ?? 0} to ${sizeAfter ?? 0} bytes`
      : `+${additions} -${deletions} lines`;
  return `${VERBS[op]} ${shownPath(path)} (${size})`;
}

/** Quoted where it could be taken for the end of one file and the beginning of another. */
function shownPath(path: string): string {
  const line = shortened(visibleLine(path), PATH_CHARACTERS);
  return /;|"| \(/.test(line) ? JSON.stringify(line) : line;
}
