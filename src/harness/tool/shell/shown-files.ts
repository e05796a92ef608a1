import { posix } from 'node:path';
import type { SeenFile } from '../../workspace/file-operation.js';
import { placesOf, TextLines } from '../text-lines.js';
import type { ToolContext } from '../tool.js';

/** Paths of a command that are compared with its output, in files of at most 1 MiB. */
const MOST_PATHS = 32;
const LARGEST_BYTES = 1024 * 1024;
/** What a part of a file must have at least: less may be in an output by chance. */
const PART_LINES = 3;
const PART_CHARACTERS = 40;

interface ShownCommand {
  readonly command: string;
  /** As the model reads it. */
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
  const seen = new Map<string, string>();
  for (const given of pathsIn(command)) {
    try {
      const path = workspace.pathOf(given);
      if (path === '') continue;
      const file = await workspace.read(path, { limitBytes: LARGEST_BYTES, signal });
      const { realPath, sha256, bytes } = file;
      if (workspace.classify(path).secret || workspace.classify(realPath).secret) continue;
      const lines = [...new TextLines(asShown(bytes))];
      const mayBePart = changed !== undefined && !changed.has(realPath);
      const isShown = views.some(
        (view) => holds(view, lines) || (mayBePart && hasPart(view, lines)),
      );
      if (isShown) seen.set(realPath, sha256);
    } catch {
      // A word of the command that is no readable file. The command itself has ended, whatever this finds.
    }
  }
  return [...seen].map(([path, sha256]) => ({ path, sha256 }));
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
      if (paths.size < MOST_PATHS) paths.add(posix.join(folder, word));
    }
  }
  return [...paths];
}

/** As `cat -n`, `nl` and `grep -n` write them. */
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
  /** By the line of the file at which each run of the same lines has arrived. */
  let runs = new Map<number, Run>();
  for (const shown of view) {
    const next = new Map<number, Run>();
    const characters = shown.replaceAll(/\s/g, '').length;
    for (const [at, run] of runs) {
      if (lines[at + 1] !== shown) continue;
      const longer = { lines: run.lines + 1, characters: run.characters + characters };
      if (longer.lines >= PART_LINES && longer.characters >= PART_CHARACTERS) return true;
      next.set(at + 1, longer);
    }
    for (const at of places(shown)) {
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
