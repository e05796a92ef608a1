import type { OpenFile } from '../../../../platform/filesystem/index.js';
import type { SecretMask } from '../../../store/secret-mask.js';
import type { Workspace } from '../../../workspace/workspace.js';
import { ToolError } from '../../../fault/tool.error.js';
import type { FoundLine } from './search.query.js';

const CHARACTERS = 500;
/** Shown before the first match of a line that is cut at its front. */
const BEFORE = 200;
/** What may be needed of a line to show that many characters. */
const WINDOW_BYTES = (CHARACTERS + BEFORE) * 4;

/** A line that was read again in the workspace. */
export interface ConfirmedLine {
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
  /** Lines before it are left out. */
  readonly isApart: boolean;
}

/**
 * Those of the lines that stand in the file now: read again, so that nothing is shown that a search has reached over a
 * link or a folder that was swapped, and nothing of a secret file. Secrets of the service are masked before a line is cut.
 */
export async function confirmedLines(
  workspace: Workspace,
  path: string,
  lines: readonly FoundLine[],
  mask: SecretMask,
): Promise<ConfirmedLine[]> {
  const { protection, secret } = workspace.classify(path);
  if (secret || protection === 'GIT') return [];
  try {
    return await workspace.withFile(path, async (file, realPath) =>
      realPath === path ? read(file, lines, mask) : [],
    );
  } catch (error) {
    // It is gone, or cannot be reached without a link.
    if (error instanceof ToolError) return [];
    throw error;
  }
}

async function read(
  file: OpenFile,
  lines: readonly FoundLine[],
  mask: SecretMask,
): Promise<ConfirmedLine[]> {
  const confirmed: ConfirmedLine[] = [];
  let last: number | undefined;
  for (const { line, offset, bytes, isMatch, column } of lines) {
    const masked = mask.applyToBytes(bytes);
    const isMasked = masked !== bytes;
    const from = column > CHARACTERS && !isMasked ? column - BEFORE : 0;
    const wanted = isMasked ? bytes : bytes.subarray(from, from + WINDOW_BYTES);
    const found = await file.part(offset + from, wanted.length);
    if (!found.equals(wanted)) continue;
    const isApart = last !== undefined && line > last + 1;
    last = line;
    const isLonger = from + wanted.length < bytes.length;
    const text = textOf(isMasked ? masked : found, { isBegun: from > 0, isLonger });
    confirmed.push({ line, text, isMatch, isApart });
  }
  return confirmed;
}

function textOf(
  bytes: Buffer,
  { isBegun, isLonger }: { readonly isBegun: boolean; readonly isLonger: boolean },
): string {
  const whole = bytes.toString().replace(/\r?\n?$/, '');
  const text = whole.slice(0, CHARACTERS).toWellFormed();
  return `${isBegun ? '… ' : ''}${text}${isLonger || text.length < whole.length ? ' …' : ''}`;
}
