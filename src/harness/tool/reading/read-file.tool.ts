import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PolicySubject } from '../../protocol/policy.js';
import { SecretMask } from '../../store/secret-mask.js';
import type { WorkspaceFile } from '../../workspace/workspace.js';
import { ToolError } from '../../fault/tool.error.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { nearPaths } from './near-names.js';
import { secrecyOf } from './secret-path.js';
import { askedFor, counted, pathText, sizeOf } from './shown-text.js';
import { textPage } from './text-page.js';
import type { TextPage } from './text-page.js';
import { TimeLimit } from './time-limit.js';

const FILE_BYTES = 20 * 1024 * 1024;
const LINES = 2_000;
const SECONDS = 30;

const input = z.strictObject({
  path: z.string().describe('Path of the file, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line to show, counted from 1. Default 1.'),
  limit: z.int().min(1).max(LINES).optional().describe('Lines to show at most. Default 2000.'),
});
type Input = z.infer<typeof input>;

/** Shows the model a text file, and notes what it has seen of it. */
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

  async subject({ path: given }: Input, context: ToolContext): Promise<PolicySubject> {
    const { workspace } = context;
    const path = workspace.pathOf(given);
    const realPath = await this.found(path, context, () => workspace.realPathOf(path));
    return { kind: 'read', secret: secrecyOf(context, path, realPath) };
  }

  async run(
    { path: given, offset = 1, limit = LINES }: Input,
    context: ToolContext,
  ): Promise<ToolOutcome> {
    const { workspace } = context;
    const path = workspace.pathOf(given);
    const time = new TimeLimit(context.signal, SECONDS);
    const file = await this.found(path, context, () =>
      workspace.read(path, { limitBytes: FILE_BYTES, signal: time.signal }),
    ).catch((error: unknown) => {
      time.check();
      throw error;
    });
    // It may have become a link since the policy was asked.
    secrecyOf(context, path, file.realPath);
    const { text, isExact } = decoded(file);
    const masked = (line: string): string => this.mask.apply(line);
    const page = textPage(text, { offset, limit, masked });
    if (!page) throw beyond(text, path, offset);
    const remark = isExact
      ? ''
      : '\n[Not valid UTF-8: \ufffd stands for bytes that cannot be shown.]';
    return {
      content: page.content + remark,
      summary: summaryOf(page, file, offset),
      truncated: page.isCut,
      seen: [{ path: file.realPath, sha256: file.sha256 }],
    };
  }

  /** Does the work; when there is no such file, the error names similar ones. */
  private async found<T>(
    path: string,
    { workspace }: ToolContext,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== 'NOT_FOUND') throw error;
      const near = await nearPaths(workspace, path);
      if (near.length === 0) throw error;
      throw new ToolError(
        'NOT_FOUND',
        `There is no ${pathText(path)}. Did you mean ${near.map(pathText).join(', ')}?`,
      );
    }
  }
}

function decoded({ path, bytes, size }: WorkspaceFile): { text: string; isExact: boolean } {
  if (bytes.includes(0)) {
    throw new ToolError(
      'NOT_TEXT',
      `${path} is a binary file of ${sizeOf(size)} and cannot be shown as text.`,
    );
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), isExact: true };
  } catch {
    return { text: bytes.toString(), isExact: false };
  }
}

function beyond(text: string, path: string, offset: number): ToolError {
  const lines = textPage(text, { offset: 1, limit: 0, masked: (line) => line })?.total ?? 0;
  return new ToolError(
    'INVALID_ARGUMENTS',
    `${path} has only ${counted(lines, 'line')}; offset=${offset} is behind its end. Give a smaller offset.`,
  );
}

function summaryOf({ lines, total }: TextPage, { path }: WorkspaceFile, offset: number): string {
  return lines === total
    ? `read ${counted(lines, 'line')} of ${path}`
    : `read lines ${offset} to ${offset + lines - 1} of ${total} of ${path}`;
}
