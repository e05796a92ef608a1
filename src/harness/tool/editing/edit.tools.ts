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
} from './editable-file.js';
import { editedContent, MAX_TEXT_BYTES, outcomeOf } from './text-edit.js';

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
  path: givenPath,
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

  async plan({ path: given, edits }: EditInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, given);
    const file = await getEditable(context, path, MAX_TEXT_BYTES);
    requireSeen(context, file);
    const { content, edited } = await editedContent(file, edits);
    const count = edits.length === 1 ? '' : ` (${edits.length} edits)`;
    return {
      files: [planUpdate(file, content)],
      content: `Edited ${shown(path)}: ${outcomeOf(edited)}`,
      summary: `edited ${path}${count}`,
    };
  }
}

const MAX_WRITE_BYTES = 1024 * 1024;

const writeInput = z.strictObject({
  path: givenPath,
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

  async plan({ path: given, content: text }: WriteInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, given);
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
    return `delete ${path}`;
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
