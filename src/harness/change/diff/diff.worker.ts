import { constants, readFileSync } from 'node:fs';
import { isMissing } from '../../../platform/filesystem/index.js';
import { cutLines, sha256 } from '../../protocol/values.js';
import { unifiedDiff } from './unified-diff.js';
import type { DiffSide, FileDiff } from './unified-diff.js';

/** One side of a comparison: a content, or where it is stored; neither when it was not stored. */
export interface SideTask {
  /** Mode as in FileState. */
  readonly mode: number;
  readonly content?: Uint8Array;
  readonly stored?: { readonly path: string; readonly sha256: string };
}

export interface CompareTask {
  readonly path: string;
  readonly before: SideTask | null;
  readonly after: SideTask | null;
}

export interface CompareJob {
  readonly tasks: readonly CompareTask[];
  /** Milliseconds since the epoch; after it nothing is compared. */
  readonly deadline: number;
  /** Whether the diffs are wanted, or their lines are only counted. */
  readonly withDiffs: boolean;
}

export interface Compared extends FileDiff {
  /** The diff is longer than 128 KiB, of which these are the first lines, or was not wanted. */
  readonly cut: boolean;
  /** Hashes of stored contents that are damaged. */
  readonly damaged: readonly string[];
}

/** Maximum size of a returned diff: more than is shown, because masking comes before the cut. */
const MAX_DIFF_BYTES = 128 * 1024;

/** Compares the files of the job in their order; undefined for those that the deadline left out. */
export function compare(job: CompareJob): (Compared | undefined)[] {
  return job.tasks.map(({ path, before, after }) => {
    if (Date.now() >= job.deadline) return undefined;
    const damaged: string[] = [];
    const { diff, ...counts } = unifiedDiff({
      path,
      before: sideOf(before, damaged),
      after: sideOf(after, damaged),
    });
    const { text, cut } = job.withDiffs ? cutLines(diff, MAX_DIFF_BYTES) : { text: '', cut: true };
    return { ...counts, diff: text, cut, damaged };
  });
}

function sideOf(side: SideTask | null, damaged: string[]): DiffSide | null {
  if (!side) return null;
  const { mode, content, stored } = side;
  if (content) return { mode, content: Buffer.from(content) };
  const bytes = stored && readKept(stored.path);
  if (!bytes || sha256(bytes) === stored.sha256) return { mode, content: bytes };
  damaged.push(stored.sha256);
  return { mode, content: undefined };
}

function readKept(path: string): Buffer | undefined {
  try {
    return readFileSync(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
