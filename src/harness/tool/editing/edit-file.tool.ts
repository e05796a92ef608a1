import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { shown } from '../../workspace/workspace-path.js';
import type { FilePlan, FileTool, ToolContext } from '../tool.js';
import { editedContent, LARGEST_TEXT, outcomeOf } from './text-edit.js';
import {
  getEditable,
  givenPath,
  givenText,
  pathOfFile,
  planUpdate,
  requireSeen,
  titled,
} from './editable-file.js';

const input = z.strictObject({
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

type EditInput = z.output<typeof input>;

/** Replaces one piece of text in a file that the run has read. */
@Injectable()
export class EditFileTool implements FileTool<EditInput> {
  readonly name = 'edit_file';
  readonly effectClass = 'FILE';
  readonly input = input;
  readonly description =
    'Replaces a piece of text in a UTF-8 file of at most 4 MiB. The file must have been read with read_file in this run and be unchanged since. oldText must occur exactly once, unless replaceAll is true; if it is not found exactly, it may differ in line ends, in spaces at the ends of lines, or by one indentation before all of its lines, as long as that fits one place only. Line ends, byte order mark and permissions of the file are kept. Use multi_edit for several edits of one file, write_file for new files.';

  title({ path }: EditInput): string {
    return titled('edit', path);
  }

  async plan({ path: given, ...edit }: EditInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, given);
    const file = await getEditable(context, path, LARGEST_TEXT);
    requireSeen(context, file);
    const { content, edited } = await editedContent(file, [edit]);
    return {
      files: [planUpdate(file, content)],
      content: `Edited ${shown(path)}: ${outcomeOf(edited)}`,
      summary: `edited ${path}`,
    };
  }
}
