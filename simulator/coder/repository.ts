import { type JsonObject, objectsOf, stringOf } from '../http/json.js';
import type { Step } from './conversation.js';

/** Tools that change files. */
export const CHANGING_TOOLS: readonly string[] = ['edit_file', 'write_file', 'delete_file'];

/** Knowledge of a repository, gained only from the results of tools. */
export interface Repository {
  readonly paths: readonly string[];
  /** Contents of the files that were read completely, including the changes made since. */
  readonly texts: ReadonlyMap<string, string>;
}

export interface Edit {
  readonly before: string;
  readonly after: string;
}

const LISTED_PATH =
  /^(?:[-*•]\s+|(?:\d+|[\d.]+ ?[kKM]?i?B)\s+)?((?:[^\s:]+\/)*[^\s:/]+\.\w+|(?:[^\s:]+\/)*(?:Makefile|Dockerfile|LICENSE))(?:\s.*)?$/;
const LEFT_OUT = /^\[harness\b/;
const LINE_NUMBER = /^\s*(\d+)(?:\t|→|: |:| \| |\|)/;

export function repositoryOf(steps: readonly Step[]): Repository {
  const paths = new Set<string>();
  const texts = new Map<string, string>();
  for (const step of steps) {
    if (step.failed) forget(step, texts);
    else learn(step, paths, texts);
  }
  return { paths: [...paths], texts };
}

/** The edits that a call of edit_file asks for. */
export function editsOf({ arguments: callArguments }: Pick<Step, 'arguments'>): Edit[] {
  return objectsOf(callArguments['edits']).map((edit) => ({
    before: stringOf(edit['oldText']),
    after: stringOf(edit['newText']),
  }));
}

export function pathOf({ arguments: callArguments }: { readonly arguments: JsonObject }): string {
  return plain(stringOf(callArguments['path']));
}

function learn(step: Step, paths: Set<string>, texts: Map<string, string>): void {
  const path = pathOf(step);
  switch (step.name) {
    case 'list_files':
    case 'glob_files':
      for (const listedPath of listedPaths(step.result, path)) paths.add(listedPath);
      break;
    case 'read_file':
      paths.add(path);
      // A harness that runs out of room leaves outputs out: such a file has to be read again.
      if (LEFT_OUT.test(step.result)) texts.delete(path);
      else if (step.arguments['offset'] === undefined) texts.set(path, contentOf(step.result));
      break;
    case 'write_file':
      paths.add(path);
      texts.set(path, stringOf(step.arguments['content']));
      break;
    case 'delete_file':
      paths.delete(path);
      texts.delete(path);
      break;
    case 'edit_file': {
      const text = texts.get(path);
      if (text !== undefined) texts.set(path, edited(text, editsOf(step)));
    }
  }
}

/** Forgets a file after a failed change, so that it is read again. */
function forget(step: Step, texts: Map<string, string>): void {
  if (CHANGING_TOOLS.includes(step.name)) texts.delete(pathOf(step));
}

function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((now, { before, after }) => now.replace(before, () => after), text);
}

/** Paths in a listing, whether each line is a whole path or a name below the folder above it. */
function listedPaths(listing: string, base: string): string[] {
  const folders: string[] = [];
  return listing.split('\n').flatMap((line) => {
    const depth = Math.floor((/^[\s│├└─]*/.exec(line)?.[0].length ?? 0) / 2);
    const entry = line.slice(/^[\s│├└─]*/.exec(line)?.[0].length ?? 0).trimEnd();
    const folder = /^([^\s:]+)\/$/.exec(entry)?.[1];
    if (folder !== undefined) {
      folders.length = depth;
      folders[depth] = folder;
      return [];
    }
    const name = LISTED_PATH.exec(entry)?.[1];
    if (name === undefined) return [];
    const above = folders.slice(0, depth).filter((part) => part !== '');
    return [plain([base, ...above, name].filter((part) => part !== '').join('/'))];
  });
}

/** The text of a file without the line numbers, headings and notes that a tool puts around it. */
export function contentOf(result: string): string {
  if (/^\[?the file is empty/i.test(result)) return '';
  const lines = result.split('\n');
  const numbered = lines.filter((line) => LINE_NUMBER.test(line));
  const isNumbered =
    numbered.length > 0 &&
    numbered.every((line, index) => Number(LINE_NUMBER.exec(line)?.[1]) === index + 1);
  return isNumbered ? numbered.map((line) => line.replace(LINE_NUMBER, '')).join('\n') : result;
}

function plain(path: string): string {
  return path.replace(/^(?:\.\/)+/, '').replace(/^\.$/, '');
}
