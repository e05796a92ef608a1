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

const MOST_EDITS = 50;

const edit = z.strictObject({
  oldText: givenText(LARGEST_TEXT).describe(
    'The text to replace, as it is once the edits before are done',
  ),
  newText: givenText(LARGEST_TEXT),
  replaceAll: z.boolean().default(false),
});

const input = z.strictObject({
  path: givenPath,
  edits: z.array(edit).min(1).max(MOST_EDITS).describe('In the order in which they are done'),
});

type MultiEditInput = z.output<typeof input>;

/** Does several edits of one file, all or none. */
@Injectable()
export class MultiEditTool implements FileTool<MultiEditInput> {
  readonly name = 'multi_edit';
  readonly effectClass = 'FILE';
  readonly input = input;
  readonly description =
    'Does 1 to 50 edits of one file in the given order, each on what the ones before have made of it; when one of them cannot be done, none is. The rules of edit_file hold for the file and for each edit.';

  title({ path, edits }: MultiEditInput): string {
    return titled(`do ${edits.length} edit(s) in`, path);
  }

  async plan({ path: given, edits }: MultiEditInput, context: ToolContext): Promise<FilePlan> {
    const path = pathOfFile(context, given);
    const file = await getEditable(context, path, LARGEST_TEXT);
    requireSeen(context, file);
    const { content, edited } = await editedContent(file, edits);
    return {
      files: [planUpdate(file, content)],
      content: `Edited ${shown(path)}: ${outcomeOf(edited)}`,
      summary: `edited ${path} (${edits.length} edits)`,
    };
  }
}
