import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PlannedFile } from '../../workspace/file-operation.js';
import { shown } from '../../workspace/workspace-path.js';
import type { FilePlan, FileTool, ToolContext } from '../tool.js';
import { ToolError } from '../../fault/tool.error.js';
import {
  findEditable,
  givenPath,
  givenText,
  pathOfFile,
  planCreate,
  planUpdate,
  titled,
} from './editable-file.js';

const LARGEST_BYTES = 1024 * 1024;

const input = z.strictObject({
  path: givenPath,
  content: givenText(LARGEST_BYTES).describe('The whole content, at most 1 MiB as UTF-8'),
});

type WriteInput = z.output<typeof input>;

/** Makes a file, or replaces one as a whole. */
@Injectable()
export class WriteFileTool implements FileTool<WriteInput> {
  readonly name = 'write_file';
  readonly effectClass = 'FILE';
  readonly input = input;
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
