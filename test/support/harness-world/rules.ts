import { isEnded, isParked, MAX_RECOVERIES } from '../../../src/harness/protocol/run.state.js';
import type { Happenings } from './actions.js';
import type { Call, World } from './world.js';
import { isSettled } from '../../../src/effect/index.js';

/** Steps in which two workers end or park any run of these tests that is left alone. */
const STEPS = 300;

/** What is wrong with a world and with the step that led to it. */
export function brokenRules(before: World, after: World): string[] {
  return [
    ...after.faults,
    ...after.calls.flatMap((call) => ofCall(call)),
    ...ofRun(after),
    ...ofStep(before, after),
  ];
}

function ofCall(call: Call): string[] {
  const { effectClass, state, executions, results, files, resolved } = call;
  const broken: string[] = [];
  if (effectClass === 'SHELL' && executions > 1) broken.push('a command was executed twice');
  if (results > 1) broken.push('a call has two results');
  if (resolved) return broken;
  const isNothing = state === 'NOT_EXECUTED' || state === 'DENIED';
  if (effectClass === 'SHELL' && isNothing && executions > 0) {
    broken.push(`an executed command is ${state}`);
  }
  if (effectClass === 'SHELL' && state === 'SUCCEEDED' && executions !== 1) {
    broken.push('a command succeeded that was not executed');
  }
  if (effectClass === 'FILE' && isNothing && files !== 'BEFORE') {
    broken.push(`files were changed by a call that is ${state}`);
  }
  if (effectClass === 'FILE' && state === 'SUCCEEDED' && files !== 'AFTER' && files !== 'OTHER') {
    broken.push('files are not as a call has left them');
  }
  return broken;
}

function ofRun({ run, calls }: World): string[] {
  const broken: string[] = [];
  if (isEnded(run.status) && calls.some(({ results }) => results !== 1)) {
    broken.push(`a run is ${run.status} and a call has no result`);
  }
  if ((run.status !== 'RUNNING') !== (run.lease === 'NONE')) {
    broken.push(`a run is ${run.status} and its lease ${run.lease}`);
  }
  if (run.cancelRequested && run.status !== 'RUNNING' && run.status !== 'CANCELLED') {
    broken.push(`a run that is to be cancelled is ${run.status}`);
  }
  if (run.recoveryAttempts > MAX_RECOVERIES) broken.push('a run was recovered too often');
  return broken;
}

function ofStep(before: World, after: World): string[] {
  const broken: string[] = [];
  if (isEnded(before.run.status)) {
    const isSame = JSON.stringify(before.run) === JSON.stringify(after.run);
    if (!isSame) broken.push('a run changed after its end');
  }
  for (const [index, { state, results }] of before.calls.entries()) {
    const now = after.calls[index];
    if (isSettled(state) && now?.state !== state) broken.push('a settled call changed its state');
    if ((now?.results ?? 0) < results) broken.push('a result was lost');
  }
  return broken;
}

/**
 * Lets the workers go on without any harm until the run has ended or waits for a person; undefined when it does neither.
 */
export function leftAlone(happenings: Happenings, start: World): World | undefined {
  let world = start;
  for (let step = 0; step < STEPS; step += 1) {
    if (isEnded(world.run.status) || isParked(world.run)) return world;
    if (happenings.runsOut(world)) world = happenings.expire(world);
    for (const action of happenings.work(world)) {
      const next = happenings.work(world).find(({ name }) => name === action.name);
      if (next) world = next.apply(world);
    }
  }
  return undefined;
}

/** The same with people who answer whatever the run waits for; undefined when it does not end. */
export function answered(happenings: Happenings, start: World): World | undefined {
  let world: World | undefined = start;
  for (let step = 0; step < STEPS; step += 1) {
    world = leftAlone(happenings, world);
    if (!world || isEnded(world.run.status)) return world;
    const answer = happenings.people(world).find(({ name }) => name !== 'cancel');
    if (!answer) return undefined;
    world = answer.apply(world);
  }
  return undefined;
}
