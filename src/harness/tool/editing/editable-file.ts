import { z } from 'zod';
import { ToolError } from '../../fault/tool.error.js';
import { sha256 } from '../../protocol/ids.js';
import { newFileMode } from '../../workspace/file-operation.js';
import type { FileState, PlannedFile } from '../../workspace/file-operation.js';
import { shown } from '../../workspace/workspace-path.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { ToolContext } from '../tool.js';

/** Size of the largest file that is removed, moved or replaced as a whole: its content is kept for undo. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Missing folders that one new file may bring along. */
const MAX_NEW_FOLDERS = 50;

/** A file that is to be changed, as it is now: no link lies on its path and it has one name. */
export interface EditableFile {
  readonly path: string;
  readonly state: FileState;
  readonly bytes: Buffer;
}

/** The path below the workspace; NOT_A_FILE for the workspace itself. */
export function pathOfFile({ workspace }: ToolContext, given: string): string {
  const path = workspace.pathOf(given);
  if (path !== '') return path;
  throw new ToolError('NOT_A_FILE', 'The path is that of the workspace itself. Name a file in it.');
}

/** The file, or undefined when nothing is there. ToolError for links, hard links, folders and files above 16 MiB. */
export async function findEditable(
  { workspace, signal }: ToolContext,
  path: string,
  limitBytes = MAX_FILE_BYTES,
): Promise<EditableFile | undefined> {
  const state = await workspace.state(path, signal);
  if (!state) return undefined;
  if (state.size > limitBytes) {
    throw new ToolError(
      'TOO_LARGE',
      `${shown(path)} has ${state.size} bytes; files of at most ${limitBytes / 1024 / 1024} MiB can be changed this way.`,
    );
  }
  const { bytes, realPath, links, sha256, size, mode } = await workspace.read(path, {
    limitBytes,
    signal,
  });
  if (realPath !== path) {
    throw new ToolError(
      'SYMLINK_ESCAPE',
      `${shown(path)} is or passes a symbolic link, over which nothing is changed. Use the path of the file itself.`,
    );
  }
  if (links > 1) {
    throw new ToolError(
      'HARD_LINK',
      `${shown(path)} has a second name (a hard link) and is not changed, because the change could reach a file elsewhere. Ask the user to copy it first.`,
    );
  }
  return { path, state: { sha256, size, mode }, bytes };
}

/** The same for a file that must be there. */
export async function getEditable(
  context: ToolContext,
  path: string,
  limitBytes?: number,
): Promise<EditableFile> {
  const file = await findEditable(context, path, limitBytes);
  if (file) return file;
  throw new ToolError(
    'NOT_FOUND',
    `${shown(path)} does not exist. Look with glob_files, or make it with write_file.`,
  );
}

/** NOT_READ or CHANGED_MEANWHILE unless a run of the session has seen what is in the file now. */
export function requireSeen({ seen }: ToolContext, { path, state }: EditableFile): void {
  const last = seen.get(path);
  if (last === state.sha256) return;
  if (last === undefined) {
    throw new ToolError(
      'NOT_READ',
      `${shown(path)} was not read in this session, and only what was read is edited. Read it with read_file, then repeat the edit.`,
    );
  }
  throw new ToolError(
    'CHANGED_MEANWHILE',
    `${shown(path)} was changed since it was last read. Read it again with read_file, then repeat the edit.`,
  );
}

export function planUpdate(
  { path, state, bytes }: EditableFile,
  content: Buffer,
  { unread = false }: { readonly unread?: boolean } = {},
): PlannedFile {
  const after = stateOf(content, state.mode);
  return {
    operation: { path, op: 'UPDATE', before: state, after, restorable: true },
    ...{ beforeContent: bytes, afterContent: content, unread },
  };
}

export function planDelete(
  { seen }: ToolContext,
  { path, state, bytes }: EditableFile,
): PlannedFile {
  return {
    operation: { path, op: 'DELETE', before: state, after: null, restorable: true },
    ...{ beforeContent: bytes, afterContent: null, unread: seen.get(path) !== state.sha256 },
  };
}

/** A file that is not there yet, with the folders on the way to it. */
export async function planCreate(
  context: ToolContext,
  path: string,
  { content, mode = newFileMode() }: { readonly content: Buffer; readonly mode?: number },
): Promise<PlannedFile> {
  const madeFolders = await missingFolders(context, path);
  return {
    operation: {
      ...{ path, op: 'CREATE', before: null, after: stateOf(content, mode), restorable: true },
      ...(madeFolders > 0 && { madeFolders }),
    },
    ...{ beforeContent: null, afterContent: content, unread: false },
  };
}

function stateOf(content: Buffer, mode: number): FileState {
  return { sha256: sha256(content), size: content.length, mode };
}

async function missingFolders({ workspace, signal }: ToolContext, path: string): Promise<number> {
  const names = path.split('/').slice(0, -1);
  for (let count = 0; count < names.length; count += 1) {
    const folder = names.slice(0, names.length - count).join('/');
    if (await isThere(workspace, folder, signal)) return count;
    if (count < MAX_NEW_FOLDERS) continue;
    throw new ToolError(
      'PATH_INVALID',
      `${shown(path)} would need more than ${MAX_NEW_FOLDERS} new folders. Use a shorter path.`,
    );
  }
  return names.length;
}

/** Whether a folder is there; NOT_A_FOLDER for a file. */
async function isThere(
  workspace: Workspace,
  folder: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (!(await workspace.state(folder, signal))) return false;
  } catch (error) {
    if (error instanceof ToolError && error.code === 'NOT_A_FILE') return true;
    throw error;
  }
  throw new ToolError('NOT_A_FOLDER', `${shown(folder)} is a file, so nothing can lie in it.`);
}

/** Text that can be stored in a file as UTF-8 and read back the same. */
export function givenText(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), {
      error: 'must be valid text without NUL characters',
    });
}

/** Any text: what is wrong with a path, the workspace says. */
export const givenPath = z.string().describe('Path of the file, relative to the workspace');
