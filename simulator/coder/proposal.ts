import { coverage, featuresOf } from '../answer/features.js';
import { quotable } from '../answer/sentences.js';
import { writeFunction } from './functions.js';
import { findMistakes, isSource, isTest } from './repair.js';
import type { Edit, Repository } from './repository.js';
import type { Task } from './task.js';

/** One file's change, with a sentence that says why. */
export type Change = { readonly path: string; readonly reason: string } & (
  | { readonly kind: 'edit'; readonly edits: readonly Edit[] }
  | { readonly kind: 'write'; readonly content: string }
  | { readonly kind: 'delete' }
);

/** Remaining changes; empty when everything is as required. */
export function changesFor(task: Task, repository: Repository): Change[] {
  const changes = [
    ...(task.intents.has('repair') ? repairs(repository) : []),
    ...(task.intents.has('add-function') ? additions(task, repository) : []),
    ...(task.intents.has('rename') ? renames(task, repository) : []),
    ...(task.intents.has('write') ? writings(task, repository) : []),
    ...(task.intents.has('delete') ? deletions(task, repository) : []),
  ];
  return mergedByPath(changes);
}

function repairs({ texts }: Repository): Change[] {
  return findMistakes(texts).map(({ path, before, after, reason, rule }) => ({
    kind: 'edit',
    path,
    edits: [{ before, after }],
    reason: rule === undefined ? reason : `${reason}, because “${quotable(rule)}”`,
  }));
}

function additions(task: Task, { paths, texts }: Repository): Change[] {
  const name = task.functionName ?? 'newFunction';
  const defined = new RegExp(`\\bfunction ${name}\\b|\\bexports\\.${name}\\b|\\bconst ${name}\\b`);
  const home = [...texts].find(([, text]) => defined.test(text));
  const target = home ?? sourceFor(task, texts);
  const path = target?.[0] ?? newPath(task, name, paths);
  const text = target?.[1] ?? '';
  const isModule = !/\bmodule\.exports\b|\bexports\.\w/.test(text);
  const addition = writeFunction(name, quotable(task.text).slice(0, 100), isModule);
  const tests = testsFor(path, name, addition.test, texts);
  // A function of this name by others needs no change; the coder's own one still needs its test.
  if (home) return text.includes(addition.code) ? tests : [];
  const reason = addition.works
    ? `\`${name}\` is added`
    : `\`${name}\` is added as a skeleton that throws, because I do not know what it has to do`;
  const change: Change =
    text === ''
      ? { kind: 'write', path, content: `${addition.code}\n`, reason }
      : { kind: 'edit', path, edits: [appended(text, addition.code)], reason };
  return [change, ...tests];
}

/** The source file that is named, or else the one that has most in common with the task. */
function sourceFor(task: Task, texts: ReadonlyMap<string, string>): [string, string] | undefined {
  const named = [...texts].find(([path]) => task.paths.some((taskPath) => path.endsWith(taskPath)));
  if (named) return named;
  if (task.paths.some((taskPath) => isSource(taskPath))) return undefined;
  const taskFeatures = featuresOf(task.text);
  return [...texts]
    .filter(([path]) => isSource(path))
    .map((entry) => ({ entry, score: coverage(taskFeatures, featuresOf(entry.join('\n'))) }))
    .toSorted((a, b) => b.score - a.score)[0]?.entry;
}

function newPath(task: Task, name: string, paths: readonly string[]): string {
  const sourcePath = task.paths.find((path) => isSource(path));
  if (sourcePath !== undefined) return sourcePath;
  return paths.some((path) => path.startsWith('src/')) ? `src/${name}.js` : `${name}.js`;
}

/** A test beside those that the file has already, where their import can be extended. */
function testsFor(
  path: string,
  name: string,
  test: string | undefined,
  texts: ReadonlyMap<string, string>,
): Change[] {
  if (test === undefined) return [];
  const module = path.split('/').at(-1) ?? path;
  for (const [testPath, text] of texts) {
    if (!isTest(testPath) || text.includes(test)) continue;
    if (!/\btest\(/.test(text) || !/\bassert\b/.test(text)) continue;
    const imported = new RegExp(
      `^import \\{ ([^}\\n]+) \\} from (['"][^'"]*${escaped(module)}['"];?)`,
      'm',
    ).exec(text);
    if (!imported) continue;
    const [whole, names = '', from = ''] = imported;
    const extended = { before: whole, after: `import { ${names}, ${name} } from ${from}` };
    const edits = [extended, appended(text, test)];
    return [{ kind: 'edit', path: testPath, edits, reason: `a test for \`${name}\`` }];
  }
  return [];
}

function renames({ rename }: Task, { texts }: Repository): Change[] {
  if (!rename) return [];
  const word = new RegExp(`(?<![\\w$])${escaped(rename.from)}(?![\\w$])`, 'g');
  return [...texts]
    .filter(([, text]) => new RegExp(word.source).test(text))
    .map(([path, text]) => ({
      kind: 'write',
      path,
      content: text.replace(word, () => rename.to),
      reason: `\`${rename.from}\` is called \`${rename.to}\``,
    }));
}

function writings({ paths: taskPaths, quoted }: Task, { paths, texts }: Repository): Change[] {
  const targetPath = taskPaths[0];
  if (targetPath === undefined || quoted === undefined) return [];
  const path =
    paths.find((one) => one === targetPath || one.endsWith(`/${targetPath}`)) ?? targetPath;
  const text = texts.get(path);
  if (text?.includes(quoted.trim())) return [];
  const reason = 'the text that was asked for';
  if (text === undefined || text.trim() === '') {
    return [{ kind: 'write', path, content: `${quoted.trim()}\n`, reason }];
  }
  return [{ kind: 'edit', path, edits: [appended(text, quoted.trim())], reason }];
}

function deletions({ paths: taskPaths }: Task, { paths }: Repository): Change[] {
  return paths
    .filter((path) => taskPaths.some((name) => path === name || path.endsWith(`/${name}`)))
    .map((path) => ({ kind: 'delete', path, reason: 'it is to be deleted' }));
}

/** Puts a block behind the last lines of a text: as many of them as occur only once. */
function appended(text: string, block: string): Edit {
  const lines = text.trimEnd().split('\n');
  for (let count = 1; count <= lines.length; count += 1) {
    const before = lines.slice(-count).join('\n');
    const isUnique = text.split(before).length === 2;
    if (isUnique) return { before, after: `${before}\n\n${block}` };
  }
  return { before: text, after: `${text.trimEnd()}\n\n${block}` };
}

/** Several edits of one file become one change. */
function mergedByPath(changes: readonly Change[]): Change[] {
  const merged: Change[] = [];
  for (const change of changes) {
    const same = merged.findIndex(({ path }) => path === change.path);
    const before = merged[same];
    if (before?.kind === 'edit' && change.kind === 'edit') {
      const reason = `${before.reason}; ${change.reason}`;
      merged[same] = { ...before, edits: [...before.edits, ...change.edits], reason };
    } else if (same < 0) merged.push(change);
  }
  return merged;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
