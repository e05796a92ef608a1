import { quotable } from '../answer/sentences.js';
import type { ChatRequest, RequestedCall } from '../chat/chat-request.js';
import { objectsOf, stringOf } from '../http/json.js';
import { type Call, CHECK_STEP, type Edit, type Move, TRANSCRIPTS } from './transcripts.js';
import type { Transcript } from './transcripts.js';

/** A tool call of the conversation with its result. */
interface Step extends Call {
  readonly result: string;
  readonly failed: boolean;
}

/** Messages of the user and tool calls since the last report. */
interface Work {
  readonly sayings: readonly string[];
  readonly steps: readonly Step[];
  /** Number of tool calls that had a result when the user spoke last. */
  readonly heardAfter: number;
}

/** The harness marks results: `[data 1a2b from read_file]`, or `[data 1a2b from read_file, an error]`. */
const RESULT = /^\[data \S+ ([^\]\n]*)\]\n([^]*?)\n?\[end of data \S+\]/;
/** Material in user messages that the user did not write, such as notes and files. */
const MATERIAL = /^\s*(?:<[\w-]+[ >]|\[(?:data|harness)\b)/;
const LINE_NUMBER = /^\d+\t/gm;
const MAX_OUTPUT_LINES = 12;
/** Without their success the run cannot go on. */
const DECISIVE_TOOLS: readonly string[] = ['plan_create', 'edit_file'];

/**
 * The next move of a recorded run, or its report. Everything is read from the request: calls made since the requirement
 * are not repeated, and calls of tools that are not offered are left out.
 */
export function nextMove(request: ChatRequest): Move {
  const work = workIn(request);
  const transcript = transcriptFor(work);
  if (!transcript) return report(INTRODUCTION);
  const failure = work.steps.findLast(
    ({ name, failed }) => failed && DECISIVE_TOOLS.includes(name),
  );
  if (failure) return report(stopped(failure, work));
  const offered = new Set(request.tools.map(({ name }) => name));
  for (const { say, calls } of transcript.moves) {
    const next = calls.filter((call) => offered.has(call.name) && isDue(call, work));
    if (next.length === 0) continue;
    if (next.some(({ name }) => DECISIVE_TOOLS.includes(name))) {
      if (misfit(transcript, work) || isInPlace(transcript, work)) break;
    }
    return { say, calls: next.map((call) => completed(call, transcript, work)) };
  }
  return report(outcome(transcript, work));
}

const INTRODUCTION = [
  'I am the offline demo model: I replay runs that were recorded in the repository `example`. I know these requirements:',
  TRANSCRIPTS.map(({ requirement }) => `- ${requirement}`).join('\n'),
].join('\n\n');

function report(say: string): Move {
  return { say, calls: [] };
}

/** Work begins again with what the user says after an answer without calls. */
function workIn({ messages }: ChatRequest): Work {
  let work = { sayings: [] as string[], steps: [] as Step[], heardAfter: 0 };
  let openCalls: RequestedCall[] = [];
  let hasReported = false;
  for (const { role, text, parts = [text], toolCalls = [], toolCallId = '' } of messages) {
    if (role === 'assistant') {
      openCalls = [...toolCalls];
      hasReported = toolCalls.length === 0;
    }
    if (role === 'tool') {
      // Some protocols have no ids and rely on the order.
      const index = openCalls.findIndex(({ id }) => id !== '' && id === toolCallId);
      const [call] = openCalls.splice(Math.max(index, 0), 1);
      if (call) work.steps.push({ ...call, ...resultIn(text) });
    }
    const sayings = parts.filter((part) => part.trim() !== '' && !MATERIAL.test(part));
    if (role !== 'user' || sayings.length === 0) continue;
    if (hasReported) work = { sayings: [], steps: [], heardAfter: 0 };
    hasReported = false;
    work.sayings.push(...sayings);
    work.heardAfter = work.steps.length;
  }
  return work;
}

function resultIn(text: string): Pick<Step, 'result' | 'failed'> {
  const [, label = '', content = text] = RESULT.exec(text) ?? [];
  return { result: content, failed: label.endsWith(', an error') };
}

/** The transcript of the newest requirement that has one. */
function transcriptFor({ sayings }: Work): Transcript | undefined {
  return sayings
    .toReversed()
    .map((saying) => TRANSCRIPTS.find(({ pattern }) => pattern.test(saying)))
    .find((transcript) => transcript !== undefined);
}

/** Feedback asks for another plan. An edit whose texts the file has already is not made again. */
function isDue(call: Call, work: Work): boolean {
  const { steps, heardAfter } = work;
  if (call.name === 'plan_create') return !steps.slice(heardAfter).some(isSameCall(call));
  if (steps.some(isSameCall(call))) return false;
  if (call.name === 'plan_step') return steps.some(({ name }) => name === 'plan_create');
  return call.name !== 'edit_file' || !hasTexts(call, work);
}

function isSameCall(call: Call): (step: Step) => boolean {
  const subjectOf = ({ arguments: { path, name } }: Call) => stringOf(path) || stringOf(name);
  return (step) => step.name === call.name && subjectOf(step) === subjectOf(call);
}

/** The text of a file as it was read last, empty if it was not; undefined if the harness has left it out to save room. */
function textOf(path: string, { steps }: Work): string | undefined {
  const step = steps.findLast((one) => one.name === 'read_file' && one.arguments['path'] === path);
  if (!step || step.failed) return '';
  return MATERIAL.test(step.result) ? undefined : step.result.replaceAll(LINE_NUMBER, '');
}

function editsOf({ moves }: Transcript): readonly Call[] {
  return moves.flatMap(({ calls }) => calls).filter(({ name }) => name === 'edit_file');
}

function hasTexts({ arguments: { path, edits } }: Call, work: Work): boolean {
  const text = textOf(stringOf(path), work);
  return (
    text !== undefined &&
    (objectsOf(edits) as Edit[]).every(
      ({ oldText, newText, replaceAll }) =>
        text.includes(newText) && !(replaceAll && text.includes(oldText)),
    )
  );
}

function isInPlace(transcript: Transcript, work: Work): boolean {
  const edits = editsOf(transcript);
  return edits.length > 0 && edits.every((call) => hasTexts(call, work));
}

/** The first file that is not as it was when the run was recorded. */
function misfit(transcript: Transcript, work: Work): string | undefined {
  const { quote } = transcript;
  if (quote && textOf(quote.path, work)?.includes(quote.text) === false) return quote.path;
  const misfitting = editsOf(transcript).find((call) => isDue(call, work) && !fits(call, work));
  return misfitting && stringOf(misfitting.arguments['path']);
}

function fits({ arguments: { path, edits } }: Call, work: Work): boolean {
  const text = textOf(stringOf(path), work);
  if (text === undefined) return true;
  return (objectsOf(edits) as Edit[]).every(({ oldText, replaceAll }) => {
    const count = text.split(oldText).length - 1;
    return replaceAll ? count > 0 : count === 1;
  });
}

/** Adds what depends on the conversation: feedback to a plan, states to its steps. */
function completed(call: Call, transcript: Transcript, work: Work): Call {
  if (call.name === 'plan_create') {
    const hasPlan = work.steps.some(({ name }) => name === 'plan_create');
    if (!hasPlan) return call;
    const feedback = quotable(work.sayings.at(-1) ?? '');
    const risks = [`This run is recorded and cannot follow the feedback: ${feedback}`];
    return { ...call, arguments: { ...call.arguments, risks } };
  }
  if (call.name !== 'plan_step') return call;
  const plan = transcript.moves
    .flatMap(({ calls }) => calls)
    .find(({ name }) => name === 'plan_create');
  const isChecked = work.steps.some(({ name, failed }) => name === 'shell' && !failed);
  const steps = objectsOf(plan?.arguments['steps']).map(({ text }) => ({
    text,
    status: text === CHECK_STEP && !isChecked ? 'SKIPPED' : 'DONE',
  }));
  return { ...call, arguments: { steps } };
}

/** Report of a run whose plan or edit was denied or failed. */
function stopped({ name, result }: Step, work: Work): string {
  return [
    `I stopped, because ${name} was answered with:\n\n> ${quotable(result)}`,
    changed(work),
  ].join('\n\n');
}

function changed({ steps }: Work): string {
  const paths = steps
    .filter(({ name, failed }) => name === 'edit_file' && !failed)
    .map(({ arguments: { path } }) => `\`${stringOf(path)}\``);
  return paths.length === 0 ? 'I have changed nothing.' : `I have changed ${paths.join(' and ')}.`;
}

function outcome(transcript: Transcript, work: Work): string {
  const hasEdited = work.steps.some(({ name }) => name === 'edit_file');
  const misfittingPath = misfit(transcript, work);
  if (misfittingPath !== undefined) {
    return `${misfittingPath} is not as it was when this run was recorded, or could not be read. ${changed(work)}`;
  }
  const parts = [transcript.report, checked(transcript, work)];
  if (!hasEdited && isInPlace(transcript, work)) {
    parts.unshift('I have found nothing to change: what is asked for is in place.');
  } else if (!hasEdited && editsOf(transcript).length > 0) {
    return 'This session may only read, so I have changed nothing.';
  }
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Result of the tests, in the words of the command. */
function checked({ moves }: Transcript, { steps }: Work): string {
  if (!moves.some(({ calls }) => calls.some(({ name }) => name === 'shell'))) return '';
  const shell = steps.findLast(({ name }) => name === 'shell');
  if (!shell) return 'I could not run the tests: no shell was offered.';
  const lines = shell.result.split('\n').map((line) => line.trim());
  const counts = lines.filter((line) => /^(?:[#ℹ]\s*)?(?:tests|pass|fail)\s+\d+$/.test(line));
  const shownLines = counts.length > 0 ? counts : lines.filter((line) => line !== '').slice(0, 3);
  const output = ['```text', ...shownLines.slice(0, MAX_OUTPUT_LINES), '```'].join('\n');
  return `The command \`${stringOf(shell.arguments['command'])}\` answered:\n\n${output}`;
}
