import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PolicySubject } from '../../protocol/policy.js';
import { SecretMask } from '../../store/secret-mask.js';
import { askedFor, counted } from '../answer.js';
import { readSubject, readTextFile, textPage } from '../text-file.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';

const LINES = 2_000;

const input = z.strictObject({
  path: z.string().describe('Path of the file, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line to show, counted from 1. Default 1.'),
  limit: z.int().min(1).max(LINES).optional().describe('Lines to show at most. Default 2000.'),
});
type Input = z.infer<typeof input>;

/** Shows the model a text file, and records what it has seen of it. */
@Injectable()
export class ReadFileTool implements ReadTool<Input> {
  readonly name = 'read_file';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Shows a text file of the workspace. Each line begins with its number and a tab, which are not part of the file. Shows at most 2000 lines, 2000 characters of a line and 46 KiB, and says how to go on. Reads files up to 20 MiB; binary files are refused. Read a file before you edit or overwrite it. Use search_text to find something in many files or in a long one, list_files for folders.';

  constructor(private readonly mask: SecretMask) {}

  title({ path }: Input): string {
    return `read ${askedFor(path)}`;
  }

  subject({ path }: Input, context: ToolContext): Promise<PolicySubject> {
    return readSubject(context, path);
  }

  async run(given: Input, context: ToolContext): Promise<ToolOutcome> {
    const { offset = 1, limit = LINES } = given;
    const file = await readTextFile(context, given.path);
    const { path, realPath, sha256, isExact } = file;
    const masked = (line: string): string => this.mask.apply(line);
    const { content, lines, total, isCut } = textPage(file, { offset, limit, masked });
    const remark = isExact
      ? ''
      : '\n[Not valid UTF-8: \ufffd stands for bytes that cannot be shown.]';
    return {
      content: content + remark,
      summary:
        lines === total
          ? `read ${counted(lines, 'line')} of ${path}`
          : `read lines ${offset} to ${offset + lines - 1} of ${total} of ${path}`,
      truncated: isCut,
      seen: [{ path: realPath, sha256 }],
    };
  }
}
