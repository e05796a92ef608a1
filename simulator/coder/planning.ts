import type { OfferedTool } from '../chat/chat-request.js';
import { type JsonObject, objectOf, objectsOf, stringOf } from '../http/json.js';
import { quotable } from '../answer/sentences.js';
import { type Situation, stepsOf } from './situation.js';

const CHECK_STEP = 'Run the tests, where a shell is offered';

/** The arguments of plan_create: what is to be changed, where and why. */
export function planOf(situation: Situation, tool: OfferedTool): JsonObject {
  const { changes, task, sayings, steps } = situation;
  const before = steps.findIndex(({ name }) => name === 'plan_create');
  const feedback = sayings.filter(({ after }) => before >= 0 && after > before);
  const texts = [
    ...changes.map(({ path, reason }) => `Change ${path}: ${reason}`),
    CHECK_STEP,
    ...feedback.map(({ text }) => `Respect what was said about the last plan: ${quotable(text)}`),
  ];
  return {
    summary: `${quotable(task.text)} – ${size(changes.length)}`,
    steps: texts.map((text, index) => planStep(text, index, tool)),
    files: changes.map(({ path }) => path),
    risks:
      changes.length === 0 ? [] : ['Code that relies on the present behaviour sees another one'],
  };
}

function size(files: number): string {
  if (files === 0) return 'nothing is changed';
  return files === 1 ? 'one file is changed' : `${files} files are changed`;
}

/** A step in the form that the tool asks for: a text, or an object with one. */
function planStep(text: string, index: number, tool: OfferedTool): string | JsonObject {
  const items = objectOf(objectOf(objectOf(tool.parameters['properties'])['steps'])['items']);
  if (stringOf(items['type']) !== 'object') return text;
  const itemProperties = objectOf(items['properties']);
  return { text, ...('id' in itemProperties && { id: String(index + 1) }) };
}

/** The arguments of plan_step that close the plan; undefined when that is done, or was refused. */
export function stepsDone(situation: Situation): JsonObject | undefined {
  const plan = stepsOf(situation, 'plan_create').findLast(({ failed }) => !failed);
  if (!plan || stepsOf(situation, 'plan_step').length > 0) return undefined;
  const { steps: planned } = plan.arguments;
  const texts = [
    ...(Array.isArray(planned) ? planned.map(stringOf) : []),
    ...objectsOf(planned).map(({ text }) => stringOf(text)),
  ].filter((text) => text !== '');
  if (texts.length === 0) return undefined;
  const checked = stepsOf(situation, 'shell').length > 0;
  const status = (text: string) => (text === CHECK_STEP && !checked ? 'SKIPPED' : 'DONE');
  return { steps: texts.map((text) => ({ text, status: status(text) })) };
}
