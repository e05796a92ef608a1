import { quotesFor } from '../answer/extract.js';
import { quotable } from '../answer/sentences.js';
import { stringOf } from '../http/json.js';
import { CHANGING_TOOLS, editsOf, pathOf } from './repository.js';
import { changesMade, type Situation, stepsOf } from './situation.js';
import { isSource, isTest } from './repair.js';

const MAX_QUOTED_LINES = 12;

/** The last words: what was done and what the tools have answered, in their own words. */
export function report(situation: Situation): string {
  const parts = [
    ...changed(situation),
    ...checked(situation),
    ...refused(situation),
    ...(changesMade(situation).length === 0 ? explained(situation) : []),
  ];
  return parts.join('\n\n');
}

function changed(situation: Situation): string[] {
  const changes = changesMade(situation);
  if (changes.length === 0) return [];
  const lines = changes.map((step) => {
    const edits = /edit/.test(step.name) ? editsOf(step) : [];
    const details = edits.map(({ before, after }) => difference(before, after)).join('\n');
    return `- \`${pathOf(step)}\` (${step.name})${details === '' ? '' : `\n${details}`}`;
  });
  return [`I have changed:\n\n${lines.join('\n')}`];
}

/** The lines that are in one text alone. */
function difference(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const gone = old.filter((line) => !now.includes(line)).map((line) => `  - ${line.trim()}`);
  const come = now.filter((line) => !old.includes(line)).map((line) => `  + ${line.trim()}`);
  return ['  ```diff', ...gone, ...come, '  ```'].join('\n');
}

/** Test result in the output of the last command. */
function checked(situation: Situation): string[] {
  const last = stepsOf(situation, 'shell').at(-1);
  if (!last) {
    const isOpen = changesMade(situation).length > 0 || situation.task.intents.has('check');
    return isOpen ? ['I could not run the tests, because no shell was offered.'] : [];
  }
  const lines = last.result.split('\n').map((line) => line.trim());
  const counts = lines.filter((line) => /^(?:[#ℹ]\s*)?(?:tests|pass|fail)\s+\d+$/.test(line));
  const outputLines = counts.length > 0 ? counts : lines.filter((line) => line !== '').slice(0, 3);
  return [
    `The command \`${stringOf(last.arguments['command'])}\` answered:\n\n${fenced(outputLines)}`,
  ];
}

function refused(situation: Situation): string[] {
  const last = stepsOf(situation, ...CHANGING_TOOLS, 'plan_create').at(-1);
  if (!last?.failed) return [];
  return [
    `I stopped, because ${last.name} was answered with:\n\n${quoted([quotable(last.result)])}`,
  ];
}

function explained(situation: Situation): string[] {
  const { repository, task } = situation;
  const { paths, texts } = repository;
  if (texts.size === 0 && paths.length === 0) {
    const answers = situation.steps.slice(-1).map(({ result }) => quotable(result));
    return [
      ['I have not been able to see any file of this workspace.', ...quotedIfAny(answers)].join(
        '\n\n',
      ),
    ];
  }
  const passages = [...texts]
    .filter(([path]) => /\.(?:md|txt)$/.test(path))
    .map(([, text]) => text);
  const quotes = quotesFor(task.text, passages);
  const opening = passages.flatMap((text) => text.split('\n')).filter((line) => /^\w/.test(line));
  return [
    ...(task.intents.has('explain') ? [] : [outcome(situation)]),
    `I have looked at ${paths.length} files and read ${[...texts.keys()].join(', ') || 'none'}.`,
    ...quotedIfAny(quotes.length > 0 ? quotes : opening.slice(0, 2)),
    ...exportsOf(texts),
  ];
}

function outcome({ task, tools }: Situation): string {
  if (task.intents.size === 0) {
    return (
      'I am the offline demo coder and follow fixed rules: I can explain this repository, look for the cause of a ' +
      'failing test, add, rename or delete, and run the tests. This requirement is beyond that.'
    );
  }
  if (!tools.has('plan_create') && !tools.has('edit_file')) {
    return 'This session may only read, so I have changed nothing.';
  }
  if (task.intents.has('check')) return 'Nothing was to be changed.';
  return 'I have found nothing to change: what is asked for is there already, or I do not see the cause.';
}

/** Exports of the sources, with the comments above them. */
function exportsOf(texts: ReadonlyMap<string, string>): string[] {
  const declarations = [...texts]
    .filter(([path]) => isSource(path) && !isTest(path))
    .flatMap(([path, text]) =>
      [
        ...text.matchAll(
          /(?:\/\*\*\s*(.*?)\s*\*\/\n)?export (?:async )?(?:function|const|class) (\w+)/g,
        ),
      ].map(([, comment, name]) => `- \`${name}\` in ${path}${comment ? `: ${comment}` : ''}`),
    );
  return declarations.length === 0
    ? []
    : [`It offers:\n\n${declarations.slice(0, MAX_QUOTED_LINES).join('\n')}`];
}

function quotedIfAny(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [quoted(lines)];
}

/** Verbatim output of a command, so that # is not a heading. */
function fenced(lines: readonly string[]): string {
  return ['```text', ...lines, '```'].join('\n');
}

function quoted(lines: readonly string[]): string {
  return lines
    .slice(0, MAX_QUOTED_LINES)
    .map((line) => `> ${line}`)
    .join('\n');
}
