import { coverage, featuresOf } from '../answer/features.js';
import type { ChatRequest } from '../chat/chat-request.js';
import type { JsonObject } from '../http/json.js';
import { planOf, stepsDone } from './planning.js';
import { isSource, isTest } from './repair.js';
import type { Change } from './proposal.js';
import { CHANGING_TOOLS, pathOf } from './repository.js';
import {
  changesMade,
  checksSinceChange,
  fitted,
  readSituation,
  type Situation,
  stepsOf,
} from './situation.js';
import { report } from './report.js';

/** Answer of the coder: a sentence and its tool calls. */
export interface Move {
  readonly say: string;
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

type Rule = (situation: Situation) => Move | undefined;

/** A person, or the rules of the session, will not have it: asking again would be no better. */
const NO_CONSENT = /\b(?:denied|refused|declined|not allowed|consent|nobody is asked)\b/i;
const MAX_TURNS = 24;
const MAX_FAILURES = 3;
const MAX_FILES = 10;
const FILES_AT_ONCE = 4;
const MAX_READS_PER_FILE = 3;

/** The next move of a small coding agent: the first rule that has something to do, or a report at the end. */
export function nextMove(request: ChatRequest): Move {
  const situation = readSituation(request);
  for (const rule of RULES) {
    const move = rule(situation);
    if (move) return withFittingArguments(move, situation);
  }
  return say(report(situation));
}

/** Ends every conversation: after many turns, refusals or failures it reports what it has. */
const giveUp: Rule = (situation) => {
  const failed = stepsOf(situation, ...CHANGING_TOOLS, 'plan_create').filter((step) => step.failed);
  const isRefused = failed.some(({ result }) => NO_CONSENT.test(result));
  if (!isRefused && situation.turns < MAX_TURNS && failed.length < MAX_FAILURES) return undefined;
  return say(report(situation));
};

const SKILLS = ['repository-investigation', 'project-conventions'];

const activateSkills: Rule = (situation) => {
  const activations = stepsOf(situation, 'activate_skill');
  if (activations.length > 0 || !situation.tools.has('activate_skill')) return undefined;
  const parameters = JSON.stringify(situation.tools.get('activate_skill')?.parameters);
  const offeredSkills = SKILLS.filter((name) =>
    `${situation.instructions} ${parameters}`.includes(name),
  );
  if (offeredSkills.length === 0) return undefined;
  return {
    say: 'First I look up how to go about this.',
    calls: offeredSkills.map((name) => ({ name: 'activate_skill', arguments: { name } })),
  };
};

const listFiles: Rule = (situation) => {
  const listed = stepsOf(situation, 'list_files');
  if (!situation.tools.has('list_files') || listed.some(({ failed }) => !failed)) return undefined;
  if (listed.length >= 2) return say(report(situation));
  return {
    say: 'I list the files.',
    calls: [{ name: 'list_files', arguments: { path: '.', depth: 3 } }],
  };
};

const readFiles: Rule = (situation) => {
  if (!situation.tools.has('read_file')) return undefined;
  const paths = filesToRead(situation).slice(0, FILES_AT_ONCE);
  if (paths.length === 0) return undefined;
  return {
    say: `I read ${paths.join(', ')}.`,
    calls: paths.map((path) => ({ name: 'read_file', arguments: { path } })),
  };
};

/** Documents first, then what is named, then sources and tests that have most in common with the task. */
function filesToRead(situation: Situation): string[] {
  const { task, repository } = situation;
  const reads = stepsOf(situation, 'read_file').map(pathOf);
  const taskFeatures = featuresOf(task.text);
  const weight = (path: string): number => {
    if (task.paths.some((taskPath) => path.endsWith(taskPath))) return 5;
    if (/(?:^|\/)README\.md$/i.test(path)) return 6;
    if (/^package\.json$/.test(path)) return 4;
    if (isSource(path)) return 2 + coverage(taskFeatures, featuresOf(path));
    if (isTest(path)) return 1 + coverage(taskFeatures, featuresOf(path));
    return 0;
  };
  return repository.paths
    .map((path) => ({ path, weight: weight(path) }))
    .filter(({ weight: one }) => one > 0)
    .toSorted((a, b) => b.weight - a.weight || (a.path < b.path ? -1 : 1))
    .slice(0, MAX_FILES)
    .map(({ path }) => path)
    .filter((path) => !repository.texts.has(path))
    .filter((path) => mayReadAgain(situation, path, reads));
}

/** A refused read is not tried again; a file whose change has failed is. */
function mayReadAgain(situation: Situation, path: string, reads: readonly string[]): boolean {
  const before = reads.filter((one) => one === path).length;
  const refused = stepsOf(situation, 'read_file').some((one) => one.failed && pathOf(one) === path);
  return !refused && before < MAX_READS_PER_FILE;
}

/** Asks the user if the task is unclear and asking is possible. */
const ask: Rule = (situation) => {
  const mayAsk = situation.tools.has('ask_user') && stepsOf(situation, 'ask_user').length === 0;
  if (!mayAsk || situation.task.intents.size > 0) return undefined;
  return {
    say: 'I am not sure what is wanted.',
    calls: [
      {
        name: 'ask_user',
        arguments: {
          question: 'Shall I explain the repository, or look for a mistake in it and fix that?',
          options: ['Explain the repository', 'Fix the failing test'],
        },
      },
    ],
  };
};

const plan: Rule = (situation) => {
  const tool = situation.tools.get('plan_create');
  const isWanted = situation.changes.length > 0 || situation.task.intents.has('check');
  if (!tool || !isWanted) return undefined;
  return {
    say: 'I have seen enough to make a plan.',
    calls: [{ name: 'plan_create', arguments: planOf(situation, tool) }],
  };
};

const change: Rule = ({ changes, tools }) => {
  const [next] = changes;
  if (!next) return undefined;
  const call = callFor(next, new Set(tools.keys()));
  return call && { say: `Now I change ${next.path}: ${next.reason}`, calls: [call] };
};

function callFor(next: Change, tools: ReadonlySet<string>): Move['calls'][number] | undefined {
  const { path } = next;
  if (next.kind === 'write') {
    return tools.has('write_file')
      ? { name: 'write_file', arguments: { path, content: next.content } }
      : undefined;
  }
  if (next.kind === 'delete') {
    return tools.has('delete_file') ? { name: 'delete_file', arguments: { path } } : undefined;
  }
  const edits = next.edits.map(({ before, after }) => ({ oldText: before, newText: after }));
  return tools.has('edit_file') ? { name: 'edit_file', arguments: { path, edits } } : undefined;
}

const DEFAULT_CHECK = 'node --test';

const check: Rule = (situation) => {
  const { tools, task, repository } = situation;
  const isWanted = task.intents.has('check') || changesMade(situation).length > 0;
  if (!isWanted || !tools.has('shell') || checksSinceChange(situation).length > 0) return undefined;
  if (!repository.paths.some(isTest)) return undefined;
  const command = testCommand(repository.texts.get('package.json'));
  return {
    say: 'I run the tests.',
    calls: [{ name: 'shell', arguments: { command } }],
  };
};

/** Test command of package.json, if it is plain; npm itself may be missing in a sandbox. */
function testCommand(manifest: string | undefined): string {
  const script = /"test"\s*:\s*"((?:node|npx|npm|python3?)[\w ./:-]*)"/.exec(manifest ?? '')?.[1];
  return script ?? DEFAULT_CHECK;
}

const tickOff: Rule = (situation) => {
  const completedSteps = situation.tools.has('plan_step') ? stepsDone(situation) : undefined;
  return (
    completedSteps && {
      say: 'The plan is carried out.',
      calls: [{ name: 'plan_step', arguments: completedSteps }],
    }
  );
};

const RULES: readonly Rule[] = [
  giveUp,
  activateSkills,
  listFiles,
  readFiles,
  ask,
  plan,
  change,
  check,
  tickOff,
];

function say(text: string): Move {
  return { say: text, calls: [] };
}

function withFittingArguments({ say: text, calls }: Move, { tools }: Situation): Move {
  return {
    say: text,
    calls: calls.map((call) => ({
      name: call.name,
      arguments: fitted(tools.get(call.name), call.arguments),
    })),
  };
}
