import { z } from 'zod';
import { Injectable } from '@nestjs/common';
import { ToolError, newFileMode } from '../../protocol/tool-call.js';
import type { PlannedFile } from '../../protocol/tool-call.js';
import { sha256 } from '../../protocol/values.js';
import { editedContent, MAX_TEXT_BYTES, outcomeOf } from './text-edit.js';
import type { FilePlan, FileTool, ToolContext } from '../tool.js';
import { displayPath } from '../../workspace/workspace-path.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { FileState } from '../../../effect/index.js';

/** Size of the largest file that is removed, moved or replaced as a whole: its content is stored for undo. */
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
export function pathOfFile({ workspace }: ToolContext, requestedPath: string): string {
  const path = workspace.pathOf(requestedPath);
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
      `${displayPath(path)} has ${state.size} bytes; files of at most ${limitBytes / 1024 / 1024} MiB can be changed this way.`,
    );
  }
  const { bytes, realPath, links, sha256, size, mode } = await workspace.read(path, {
    limitBytes,
    signal,
  });
  if (realPath !== path) {
    throw new ToolError(
      'SYMLINK_ESCAPE',
      `${displayPath(path)} is or passes a symbolic link, over which nothing is changed. Use the path of the file itself.`,
    );
  }
  if (links > 1) {
    throw new ToolError(
      'HARD_LINK',
      `${displayPath(path)} has a second name (a hard link) and is not changed, because the change could reach a file elsewhere. Ask the user to copy it first.`,
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
    `${displayPath(path)} does not exist. Look with glob_files, or make it with write_file.`,
  );
}

/** NOT_READ or CHANGED_MEANWHILE unless a run of the session has seen what is in the file now. */
export function requireSeen({ seen }: ToolContext, { path, state }: EditableFile): void {
  const last = seen.get(path);
  if (last === state.sha256) return;
  if (last === undefined) {
    throw new ToolError(
      'NOT_READ',
      `${displayPath(path)} was not read in this session, and only what was read is edited. Read it with read_file, then repeat the edit.`,
    );
  }
  throw new ToolError(
    'CHANGED_MEANWHILE',
    `${displayPath(path)} was changed since it was last read. Read it again with read_file, then repeat the edit.`,
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
    beforeContent: bytes,
    afterContent: content,
    unread,
  };
}

export function planDelete(
  { seen }: ToolContext,
  { path, state, bytes }: EditableFile,
): PlannedFile {
  return {
    operation: { path, op: 'DELETE', before: state, after: null, restorable: true },
    beforeContent: bytes,
    afterContent: null,
    unread: seen.get(path) !== state.sha256,
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
      path,
      op: 'CREATE',
      before: null,
      after: stateOf(content, mode),
      restorable: true,
      ...(madeFolders > 0 && { madeFolders }),
    },
    beforeContent: null,
    afterContent: content,
    unread: false,
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
      `${displayPath(path)} would need more than ${MAX_NEW_FOLDERS} new folders. Use a shorter path.`,
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
  throw new ToolError(
    'NOT_A_FOLDER',
    `${displayPath(folder)} is a file, so nothing can lie in it.`,
  );
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

/** Accepts any text: the workspace reports what is wrong with a path. */
const pathInput = z.string().describe('Path of the file, relative to the workspace');

const MAX_EDITS = 50;

const edit = z.strictObject({
  oldText: givenText(MAX_TEXT_BYTES).describe(
    'The text to replace, exactly as it is in the file once the edits before are applied, without line numbers, with enough lines around it to be unique',
  ),
  newText: givenText(MAX_TEXT_BYTES).describe(
    'What stands there afterwards; empty to remove the text',
  ),
  replaceAll: z
    .boolean()
    .default(false)
    .describe('Replace every place where oldText is, exactly as given'),
});

const editInput = z.strictObject({
  path: pathInput,
  edits: z.array(edit).min(1).max(MAX_EDITS).describe('Replacements, in the order of application'),
});

type EditInput = z.output<typeof editInput>;

/** Applies a list of replacements to a file that the run has read, all or none. */
@Injectable()
export class EditFileTool implements FileTool<EditInput> {
  readonly name = 'edit_file';
  readonly effectClass = 'FILE';
  readonly input = editInput;
  readonly description =
    'Replaces 1 to 50 pieces of text in a UTF-8 file of at most 4 MiB, in the given order, each in what the ones before have left; when one of them cannot be applied, none is. The file must have been read with read_file, or shown by a command, in this session and be unchanged since. Each oldText must occur exactly once, unless replaceAll is true; if it is not found exactly, whole lines may differ in line ends, in spaces at the ends of lines, by one indentation before all of them, or by plain quotes and dashes where the file has typographic ones, as long as that fits one place only. Line ends, byte order mark and permissions of the file are kept. Use write_file for new files.';

  title({ path, edits }: EditInput): string {
    return edits.length === 1 ? `edit ${path}` : `make ${edits.length} edits in ${path}`;
  }

  async plan({ path: requestedPath, edits }: EditInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, requestedPath);
    const file = await getEditable(context, path, MAX_TEXT_BYTES);
    requireSeen(context, file);
    const { content, edited } = await editedContent(file, edits);
    const count = edits.length === 1 ? '' : ` (${edits.length} edits)`;
    return {
      files: [planUpdate(file, content)],
      content: `Edited ${displayPath(path)}: ${outcomeOf(edited)}`,
      summary: `edited ${path}${count}`,
    };
  }
}

const MAX_WRITE_BYTES = 1024 * 1024;

const writeInput = z.strictObject({
  path: pathInput,
  content: givenText(MAX_WRITE_BYTES).describe('The whole content, at most 1 MiB as UTF-8'),
});

type WriteInput = z.output<typeof writeInput>;

/** Makes a file, or replaces one as a whole. */
@Injectable()
export class WriteFileTool implements FileTool<WriteInput> {
  readonly name = 'write_file';
  readonly effectClass = 'FILE';
  readonly input = writeInput;
  readonly description =
    'Makes a file with the given content, at most 1 MiB, and the folders on the way to it; or replaces a file as a whole, whose permissions stay. Read a file with read_file before you replace it: one that you have not read is replaced only if the user or the policy allows it. Prefer edit_file for changing a part of a file.';

  title({ path }: WriteInput): string {
    return `write ${path}`;
  }

  async plan(
    { path: requestedPath, content: text }: WriteInput,
    context: ToolContext,
  ): Promise<FilePlan> {
    const path = pathOfFile(context, requestedPath);
    const content = Buffer.from(text);
    if (content.length > MAX_WRITE_BYTES) {
      throw new ToolError(
        'TOO_LARGE',
        `The content has ${content.length} bytes; at most 1 MiB can be written at once. Write less, or in several files.`,
      );
    }
    const file = await plannedWrite(context, path, content);
    const done = file.operation.op === 'CREATE' ? 'Made' : 'Replaced';
    return {
      files: [file],
      content: `${done} ${displayPath(path)} (${content.length} bytes).`,
      summary: `${done.toLowerCase()} ${path}`,
    };
  }
}

async function plannedWrite(
  context: ToolContext,
  path: string,
  content: Buffer,
): Promise<PlannedFile> {
  const file = await findEditable(context, path);
  if (!file) return planCreate(context, path, { content });
  if (file.bytes.equals(content)) {
    throw new ToolError(
      'INVALID_ARGUMENTS',
      `${displayPath(path)} has exactly this content already: nothing to do.`,
    );
  }
  const lastSeenHash = context.seen.get(path);
  if (lastSeenHash !== undefined && lastSeenHash !== file.state.sha256) {
    throw new ToolError(
      'CHANGED_MEANWHILE',
      `${displayPath(path)} was changed since it was last read. Read it again with read_file before you replace it.`,
    );
  }
  return planUpdate(file, content, { unread: lastSeenHash === undefined });
}

const deleteInput = z.strictObject({ path: pathInput });

type DeleteInput = z.output<typeof deleteInput>;

/** Removes one file, whose content is stored so that this can be undone. */
@Injectable()
export class DeleteFileTool implements FileTool<DeleteInput> {
  readonly name = 'delete_file';
  readonly effectClass = 'FILE';
  readonly input = deleteInput;
  readonly description =
    'Removes one file of at most 16 MiB; folders are not removed. The user can undo it.';

  title({ path }: DeleteInput): string {
    return `delete ${path}`;
  }

  async plan({ path: requestedPath }: DeleteInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, requestedPath);
    const file = await getEditable(context, path);
    return {
      files: [planDelete(context, file)],
      content: `Removed ${displayPath(path)}.`,
      summary: `removed ${path}`,
    };
  }
}
