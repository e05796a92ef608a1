import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ToolError } from '../../fault/tool.error.js';
import type { PlannedFile } from '../../workspace/file-operation.js';
import { shown } from '../../workspace/workspace-path.js';
import type { FilePlan, FileTool, ToolContext } from '../tool.js';
import {
  findEditable,
  getEditable,
  givenPath,
  givenText,
  pathOfFile,
  planCreate,
  planDelete,
  planUpdate,
  requireSeen,
  titled,
} from './editable-file.js';
import { editedContent, LARGEST_TEXT, outcomeOf } from './text-edit.js';
import type { TextEdit } from './text-edit.js';

const editInput = z.strictObject({
  path: givenPath,
  oldText: givenText(LARGEST_TEXT).describe(
    'The text to replace, exactly as it is in the file, without line numbers, with enough lines around it to be unique',
  ),
  newText: givenText(LARGEST_TEXT).describe('What stands there afterwards; empty to remove it'),
  replaceAll: z
    .boolean()
    .default(false)
    .describe('Replace every place where oldText is, exactly as given'),
});

type EditInput = z.output<typeof editInput>;

/** Replaces one piece of text in a file that the run has read. */
@Injectable()
export class EditFileTool implements FileTool<EditInput> {
  readonly name = 'edit_file';
  readonly effectClass = 'FILE';
  readonly input = editInput;
  readonly description =
    'Replaces a piece of text in a UTF-8 file of at most 4 MiB. The file must have been read with read_file, or shown by a command, in this session and be unchanged since. oldText must occur exactly once, unless replaceAll is true; if it is not found exactly, it may differ in line ends, in spaces at the ends of lines, by one indentation before all of its lines, or in typographic quotes and dashes, as long as that fits one place only. Line ends, byte order mark and permissions of the file are kept. Use multi_edit for several edits of one file, write_file for new files.';

  title({ path }: EditInput): string {
    return titled('edit', path);
  }

  async plan({ path: given, ...edit }: EditInput, context: ToolContext): Promise<FilePlan> {
    const { path, file, outcome } = await plannedEdits(context, given, [edit]);
    return {
      files: [file],
      content: `Edited ${shown(path)}: ${outcome}`,
      summary: `edited ${path}`,
    };
  }
}

const MOST_EDITS = 50;

const edit = z.strictObject({
  oldText: givenText(LARGEST_TEXT).describe(
    'The text to replace, as it is once the edits before are done',
  ),
  newText: givenText(LARGEST_TEXT),
  replaceAll: z.boolean().default(false),
});

const multiEditInput = z.strictObject({
  path: givenPath,
  edits: z.array(edit).min(1).max(MOST_EDITS).describe('In the order in which they are done'),
});

type MultiEditInput = z.output<typeof multiEditInput>;

/** Does several edits of one file, all or none. */
@Injectable()
export class MultiEditTool implements FileTool<MultiEditInput> {
  readonly name = 'multi_edit';
  readonly effectClass = 'FILE';
  readonly input = multiEditInput;
  readonly description =
    'Does 1 to 50 edits of one file in the given order, each on what the ones before have made of it; when one of them cannot be done, none is. The rules of edit_file hold for the file and for each edit.';

  title({ path, edits }: MultiEditInput): string {
    return titled(`do ${edits.length} edit(s) in`, path);
  }

  async plan({ path: given, edits }: MultiEditInput, context: ToolContext): Promise<FilePlan> {
    const { path, file, outcome } = await plannedEdits(context, given, edits);
    return {
      files: [file],
      content: `Edited ${shown(path)}: ${outcome}`,
      summary: `edited ${path} (${edits.length} edits)`,
    };
  }
}

/** The edits of a file that the run has read; `outcome` says what they have made of it. */
async function plannedEdits(
  context: ToolContext,
  given: string,
  edits: readonly TextEdit[],
): Promise<{ readonly path: string; readonly file: PlannedFile; readonly outcome: string }> {
  const path = pathOfFile(context, given);
  const file = await getEditable(context, path, LARGEST_TEXT);
  requireSeen(context, file);
  const { content, edited } = await editedContent(file, edits);
  return { path, file: planUpdate(file, content), outcome: outcomeOf(edited) };
}

const LARGEST_BYTES = 1024 * 1024;

const writeInput = z.strictObject({
  path: givenPath,
  content: givenText(LARGEST_BYTES).describe('The whole content, at most 1 MiB as UTF-8'),
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
    return titled('write', path);
  }

  async plan({ path: given, content: text }: WriteInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, given);
    const content = Buffer.from(text);
    if (content.length > LARGEST_BYTES) {
      throw new ToolError(
        'TOO_LARGE',
        `The content has ${content.length} bytes; at most 1 MiB can be written at once. Write less, or in several files.`,
      );
    }
    const file = await plannedWrite(context, path, content);
    const done = file.operation.op === 'CREATE' ? 'Made' : 'Replaced';
    return {
      files: [file],
      content: `${done} ${shown(path)} (${content.length} bytes).`,
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
      `${shown(path)} has exactly this content already: nothing to do.`,
    );
  }
  const seen = context.seen.get(path);
  if (seen !== undefined && seen !== file.state.sha256) {
    throw new ToolError(
      'CHANGED_MEANWHILE',
      `${shown(path)} was changed since it was last read. Read it again with read_file before you replace it.`,
    );
  }
  return planUpdate(file, content, { unread: seen === undefined });
}

const deleteInput = z.strictObject({ path: givenPath });

type DeleteInput = z.output<typeof deleteInput>;

/** Removes one file, which is kept so that this can be undone. */
@Injectable()
export class DeleteFileTool implements FileTool<DeleteInput> {
  readonly name = 'delete_file';
  readonly effectClass = 'FILE';
  readonly input = deleteInput;
  readonly description =
    'Removes one file of at most 16 MiB; folders are not removed. The user can undo it.';

  title({ path }: DeleteInput): string {
    return titled('delete', path);
  }

  async plan({ path: given }: DeleteInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, given);
    const file = await getEditable(context, path);
    return {
      files: [planDelete(context, file)],
      content: `Removed ${shown(path)}.`,
      summary: `removed ${path}`,
    };
  }
}
