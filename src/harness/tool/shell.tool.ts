import { posix } from 'node:path';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { WorkspaceSnapshots } from '../change/snapshot/workspace.snapshots.js';
import type { ToolErrorCode } from '../protocol/tool-call.js';
import { firstBytes } from '../protocol/values.js';
import { Sandbox } from '../sandbox/sandbox.js';
import type { OutputCollector, SandboxResult } from '../sandbox/sandbox.run.js';
import { SecretMask } from '../store/secret-mask.js';
import { placesOf, TextLines } from './tool.js';
import type { ShellOutcome, ShellStarted, ShellTool, ToolContext, ToolOutcome } from './tool.js';
import type { FileOperation, SeenFile } from '../../effect/index.js';

/** Paths of a command that are compared with its output, in files of at most 1 MiB. */
const MAX_PATHS = 32;
const MAX_FILE_BYTES = 1024 * 1024;
/** Minimum size of a matching part of a file: less may be in an output by chance. */
const MIN_PART_LINES = 3;
const MIN_PART_CHARS = 40;

interface ShownCommand {
  readonly command: string;
  /** Output in the form that the model reads. */
  readonly output: string;
  /** Paths that the command has changed; undefined when they are not known. */
  readonly changed: ReadonlySet<string> | undefined;
  /** The content of a file as it is shown in an output. */
  readonly asShown: (content: Buffer) => string;
}

/**
 * The files that a command names and whose content its output shows, as they are now: all of it or, of a file that the
 * command has not changed, three lines in a row or more, with or without line numbers. Files that may hold secrets never
 * count. Never fails: what cannot be read was not shown.
 */
export async function filesShownBy(
  { command, output, changed, asShown }: ShownCommand,
  { workspace, signal }: Pick<ToolContext, 'workspace' | 'signal'>,
): Promise<SeenFile[]> {
  const views = [output, withoutNumbers(output)].map((text) => [...new TextLines(text)]);
  const shownFiles = new Map<string, string>();
  for (const candidate of pathsIn(command)) {
    try {
      const path = workspace.pathOf(candidate);
      if (path === '') continue;
      const file = await workspace.read(path, { limitBytes: MAX_FILE_BYTES, signal });
      const { realPath, sha256, bytes } = file;
      if (workspace.classify(path).secret || workspace.classify(realPath).secret) continue;
      const lines = [...new TextLines(asShown(bytes))];
      const mayBePart = changed !== undefined && !changed.has(realPath);
      const isShown = views.some(
        (view) => holds(view, lines) || (mayBePart && hasPart(view, lines)),
      );
      if (isShown) shownFiles.set(realPath, sha256);
    } catch {
      // A word of the command that is no readable file. The command itself has ended, whatever this finds.
    }
  }
  return [...shownFiles].map(([path, sha256]) => ({ path, sha256 }));
}

const WORD = /'([^']*)'|"([^"]*)"|([^\s'"|&;<>()`$*?]+)/g;

/** The words of a command that may be paths, also below the folders that it changes to. */
function pathsIn(command: string): readonly string[] {
  const paths = new Set<string>();
  const folders = ['.'];
  let before = '';
  for (const [, single, double, bare] of command.matchAll(WORD)) {
    const word = single ?? double ?? bare ?? '';
    if (before === 'cd') folders.push(posix.join(folders.at(-1) ?? '.', word));
    before = word;
    if (word === '' || word.startsWith('-')) continue;
    for (const folder of posix.isAbsolute(word) ? ['/'] : folders) {
      if (paths.size < MAX_PATHS) paths.add(posix.join(folder, word));
    }
  }
  return [...paths];
}

/** Removes line numbers in the form of `cat -n`, `nl` and `grep -n`. */
function withoutNumbers(output: string): string {
  return output.replaceAll(/^[ \t]*\d+[\t:-]/gm, '');
}

function holds(view: readonly string[], lines: readonly string[]): boolean {
  if (lines.every((line) => line.trim() === '')) return false;
  return `\n${view.join('\n')}\n`.includes(`\n${lines.join('\n')}\n`);
}

/** Whether lines of the file are in the view one after the other, as many as a part must have. */
function hasPart(view: readonly string[], lines: readonly string[]): boolean {
  const places = placesOf(lines, view);
  /** Runs of equal lines, by the line of the file that each has reached. */
  let runs = new Map<number, Run>();
  for (const viewLine of view) {
    const next = new Map<number, Run>();
    const characters = viewLine.replaceAll(/\s/g, '').length;
    for (const [at, run] of runs) {
      if (lines[at + 1] !== viewLine) continue;
      const longer = { lines: run.lines + 1, characters: run.characters + characters };
      if (longer.lines >= MIN_PART_LINES && longer.characters >= MIN_PART_CHARS) return true;
      next.set(at + 1, longer);
    }
    for (const at of places(viewLine)) {
      if (!next.has(at)) next.set(at, { lines: 1, characters });
    }
    runs = next;
  }
  return false;
}

interface Run {
  readonly lines: number;
  readonly characters: number;
}

const MAX_COMMAND_BYTES = 8 * 1_024;
const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

const UNKNOWN_CHANGES =
  '[What the command has changed is not known and cannot be undone: the workspace has too many files by now. No further command is run before there are fewer.]';

const input = z.strictObject({
  command: z
    .string()
    .refine((command) => command.trim() !== '', 'must not be empty')
    .refine(
      (command) => Buffer.byteLength(command) <= MAX_COMMAND_BYTES,
      'must not be longer than 8 KiB; write a script with write_file and run that',
    )
    .refine((command) => !command.includes('\0'), 'must not hold a zero byte')
    .refine((command) => command.isWellFormed(), 'must be valid Unicode')
    .describe('For bash. It starts in the root of the workspace; use cd in it for another folder.'),
  timeoutMs: z
    .int()
    .min(1_000)
    .max(MAX_TIMEOUT_MS)
    .default(DEFAULT_TIMEOUT_MS)
    .describe('The command is ended after this time. Default 120000, at most 600000.'),
  description: z
    .string()
    .max(200)
    .optional()
    .describe(
      'What the command is for, in a few words. People see it beside the command, as your words.',
    ),
});
type Input = z.infer<typeof input>;

/** Runs a command in the sandbox and tells what it has changed. */
@Injectable()
export class ShellCommandTool implements ShellTool<Input> {
  readonly name = 'shell';
  readonly effectClass = 'SHELL';
  readonly input = input;
  readonly description =
    'Runs a bash command in a sandbox and answers its output and exit code. The workspace can be written, /tmp lasts for one command; there is no network and no input. Nothing of it goes on running afterwards, and no variables are kept for the next command. Files that hold secrets cannot be read there, and .git and other protected paths are read-only; repositories and protected paths that a command makes are removed after it. Changes below node_modules, dist, build and target are not recorded and cannot be undone. The output is cut to 48 KiB in the middle: filter long output in the command. For reading, searching and editing files use the tools for that.';

  constructor(
    private readonly sandbox: Sandbox,
    private readonly snapshots: WorkspaceSnapshots,
    private readonly mask: SecretMask,
  ) {}

  title({ command }: Input): string {
    return `run ${command}`;
  }

  modelDescription({ description }: Input): string | undefined {
    return description;
  }

  command({ command }: Input): string {
    return command;
  }

  async run(
    { command, timeoutMs }: Input,
    context: ToolContext,
    started: ShellStarted,
  ): Promise<ShellOutcome> {
    const { workspace, signal, onOutput } = context;
    const { tenantId } = context.run;
    const target = { tenantId, root: workspace.root };
    let before: string | undefined;
    let changesAtEnd: Promise<readonly FileOperation[] | undefined> | undefined;
    const result = await this.sandbox.run({
      workspace: workspace.root,
      command,
      timeoutMs,
      signal,
      onReady: async (protectedPaths) => {
        before = await this.snapshots.take(target, signal, protectedPaths);
        await started(before);
      },
      // Beside the search for what the command has planted. Also when the run was cancelled meanwhile.
      onEnded: () => {
        if (before !== undefined) changesAtEnd = this.snapshots.changesSince(target, before);
        changesAtEnd?.catch(() => undefined);
      },
      ...(onOutput && { onOutput }),
    });
    // Planted files that were removed are no change of the command.
    const changes =
      result.tidied && before !== undefined
        ? await this.snapshots.changesSince(target, before)
        : await changesAtEnd;
    const failure = failureOf(result);
    const output = commandOutput(result, timeoutMs, this.mask);
    const shownCommand = { command, output: output.content, changed: changes && pathsOf(changes) };
    const asShown = (content: Buffer): string => this.mask.apply(outputText(content));
    return {
      ...output,
      seen: await filesShownBy({ ...shownCommand, asShown }, context),
      ...(!changes && { content: `${output.content}\n${UNKNOWN_CHANGES}` }),
      ...(failure && { failure }),
      exitCode: result.exitCode,
      changes: changes ?? [],
    };
  }
}

function pathsOf(changes: readonly FileOperation[]): ReadonlySet<string> {
  return new Set(changes.map(({ path }) => path));
}

function failureOf({ cancelled, timedOut, exitCode }: SandboxResult): ToolErrorCode | undefined {
  if (cancelled) return 'CANCELLED';
  if (timedOut) return 'TIMED_OUT';
  return exitCode === 0 ? undefined : 'COMMAND_FAILED';
}

const MAX_NAMED_PATHS = 10;
const MAX_NAMED_CHARS = 200;
/** Maximum size of a command's result for the model, with the lines about it. */
const MAX_SHOWN_BYTES = 48 * 1_024;
const LINES_BYTES = 512;

/**
 * Result of a command for the model: how it ended, then its output or the beginning and the end of it, without
 * secrets. They are masked before the output is cut, because a cut could leave a part of one.
 */
export function commandOutput(
  result: SandboxResult,
  timeoutMs: number,
  mask: SecretMask,
): Pick<ToolOutcome, 'content' | 'summary' | 'truncated' | 'whole'> {
  const ending = endingOf(result, timeoutMs);
  const remarks = remarksOn(result);
  const remainingBytes = MAX_SHOWN_BYTES - LINES_BYTES - Buffer.byteLength(remarks.join('\n'));
  const { text, truncated } = shownOutput(result.output, mask, Math.floor(remainingBytes / 2));
  const seconds = (result.durationMs / 1_000).toFixed(1);
  const count = result.removed.length;
  return {
    content: [ending, text === '' ? '[No output.]' : text, ...remarks].join('\n'),
    summary: `${ending} after ${seconds} s${count > 0 ? `; ${count} protected paths removed` : ''}`,
    truncated,
    ...(truncated && { whole: result.output.whole() }),
  };
}

function remarksOn({ exceeded, masked, removed }: SandboxResult): string[] {
  const remarks: string[] = [];
  if (exceeded !== null) {
    remarks.push(
      '[The limit is for all processes of a command together. Do the work in smaller parts, or ask the user to raise the limit.]',
    );
  }
  if (masked.length > 0) {
    remarks.push(
      `[Secrets are kept from commands: these files cannot be read, or are shown without them: ${named(masked)}. What is committed can be read from the history all the same.]`,
    );
  }
  if (removed.length > 0) {
    remarks.push(
      `[Removed, because commands must not make repositories or protected paths: ${named(removed)}. Use write_file for a protected file that the user wants.]`,
    );
  }
  return remarks;
}

/** The first paths, and how many there are more. */
function named(paths: readonly string[]): string {
  const first = paths
    .slice(0, MAX_NAMED_PATHS)
    .map((path) => JSON.stringify(path.slice(0, MAX_NAMED_CHARS)));
  const more = paths.length - first.length;
  return `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function endingOf(result: SandboxResult, timeoutMs: number): string {
  const { exitCode, signal, timedOut, cancelled, exceeded } = result;
  if (timedOut) return `timed out: ended after ${timeoutMs} ms`;
  if (cancelled) return 'cancelled: ended before it was done';
  if (exceeded !== null) return `ended: ${exceeded}`;
  return `exit code ${exitCode ?? 'unknown'}${signal ? ` (${signal})` : ''}`;
}

function shownOutput(
  output: OutputCollector,
  mask: SecretMask,
  sideBytes: number,
): { text: string; truncated: boolean } {
  if (output.total <= 2 * sideBytes) {
    const text = mask.apply(outputText(output.whole()));
    // Binary output grows when it is decoded as text.
    if (Buffer.byteLength(text) <= 2 * sideBytes) return { text, truncated: false };
  }
  // The margin includes all of a secret that lies across the cut.
  const wanted = sideBytes + mask.longest();
  const head = firstBytes(mask.applyToBeginning(outputText(output.head(wanted))), sideBytes);
  const tail = lastBytes(mask.applyToEnd(outputText(output.tail(wanted))), sideBytes);
  const remark = `[The output has ${output.total} bytes; this is its beginning and its end. Repeat the command with a filter to see more.]`;
  return { text: `${head}\n${remark}\n${tail}`, truncated: true };
}

/** Marks that move the cursor, set colours or titles: nothing that a reader of text needs. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Bytes of a command's output as text that can be stored and read; what is no UTF-8 or no text becomes U+FFFD. */
function outputText(bytes: Buffer): string {
  return bytes.toString('utf8').replace(ESCAPES, '').replace(CONTROLS, '\ufffd');
}

/** The last bytes of the text, without a split character at its beginning. */
function lastBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  let start = Math.max(0, all.length - bytes);
  // Bytes that continue a character.
  while (((all[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return all.toString('utf8', start);
}
