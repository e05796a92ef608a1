import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { shown } from '../../workspace/workspace-path.js';
import type { FilePlan, FileTool, ToolContext } from '../tool.js';
import { getEditable, givenPath, pathOfFile, planDelete, titled } from './editable-file.js';

const input = z.strictObject({ path: givenPath });

type DeleteInput = z.output<typeof input>;

/** Removes one file, which is kept so that this can be undone. */
@Injectable()
export class DeleteFileTool implements FileTool<DeleteInput> {
  readonly name = 'delete_file';
  readonly effectClass = 'FILE';
  readonly input = input;
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
