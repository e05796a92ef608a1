import * as runs from '../../../src/harness/protocol/run.state.js';
import type { EndStatus, RunMove, RunState } from '../../../src/harness/protocol/run.state.js';
import * as effects from '../../../src/effect/index.js';
import type { EffectClass, EffectState, FilesFound } from '../../../src/effect/index.js';

/** The functions under test; a test of the tests puts a wrong one in the place of one of them. */
export interface Protocol {
  readonly moved: typeof runs.moved;
  readonly claimOf: typeof runs.claimOf;
  readonly endOf: typeof runs.endOf;
  readonly endsAtOnce: typeof runs.endsAtOnce;
  /** What the query for a new owner selects: calls without a result message. */
  readonly isUnanswered: (call: Call) => boolean;
  readonly reconciliationOf: typeof effects.reconciliationOf;
  readonly abandonedAs: typeof effects.abandonedAs;
}

export const realProtocol: Protocol = {
  moved: runs.moved,
  claimOf: runs.claimOf,
  endOf: runs.endOf,
  endsAtOnce: runs.endsAtOnce,
  isUnanswered: ({ results }) => results === 0,
  reconciliationOf: effects.reconciliationOf,
  abandonedAs: effects.abandonedAs,
};

/** A tool call as the model's script has it. */
export interface ScriptedCall {
  readonly effectClass: EffectClass;
  /** Somebody must agree before it is carried out. */
  readonly asks: boolean;
}

/** What the model answers, turn by turn; after the last turn it answers without calls. A plan is reviewed first. */
export interface Script {
  readonly plan: boolean;
  readonly turns: readonly (readonly ScriptedCall[])[];
}

export interface Call extends ScriptedCall {
  readonly state: EffectState;
  readonly approval: 'NONE' | 'PENDING' | 'APPROVED' | 'DENIED';
  /** How often the world outside has felt it. */
  readonly executions: number;
  /** Result messages. */
  readonly results: number;
  readonly files: FilesFound;
  /** A person has said what became of it. */
  readonly resolved: boolean;
}

/** Where a worker is in its program. What stands here is lost in a crash. */
export type Place =
  | { readonly at: 'settle' | 'work' | 'asked' }
  | { readonly at: 'begun' | 'acting' | 'acted' | 'rolling'; readonly call: number };

export interface Worker {
  readonly fence: number;
  readonly place: Place;
}

/** What may still go wrong, or be done by people, so that there is an end to the states. */
export interface Chances {
  readonly crashes: number;
  /** Leases that end although their holder lives. */
  readonly expiries: number;
  readonly releases: number;
  readonly outages: number;
  readonly cancels: number;
  /** Files changed by somebody else. */
  readonly meddlings: number;
  readonly revisions: number;
}

/** One run with its tool calls and the two processes that may hold it. Never changed: a step makes a new one. */
export interface World {
  readonly run: RunState;
  readonly calls: readonly Call[];
  /** Turns of the model that are stored. */
  readonly turn: number;
  readonly planned: boolean;
  readonly workers: readonly (Worker | null)[];
  readonly chances: Chances;
  /** What must never happen and did. */
  readonly faults: readonly string[];
}

export const NO_CHANCES: Chances = {
  crashes: 0,
  expiries: 0,
  releases: 0,
  outages: 0,
  cancels: 0,
  meddlings: 0,
  revisions: 0,
};

export function newWorld({ plan }: Script, chances: Chances): World {
  return {
    run: {
      status: 'QUEUED',
      phase: plan ? 'PLAN' : 'BUILD',
      waitKind: null,
      recovering: false,
      cancelRequested: false,
      recoveryAttempts: 0,
      fence: 0,
      lease: 'NONE',
    },
    calls: [],
    turn: 0,
    planned: false,
    workers: [null, null],
    chances,
    faults: [],
  };
}

export function newCall({ effectClass, asks }: ScriptedCall): Call {
  return {
    effectClass,
    asks,
    state: 'PREPARED',
    approval: 'NONE',
    executions: 0,
    results: 0,
    files: 'BEFORE',
    resolved: false,
  };
}

export function fault(world: World, what: string): World {
  return { ...world, faults: [...world.faults, what] };
}

export function changeCall(world: World, index: number, change: Partial<Call>): World {
  const calls = world.calls.map((call, at) => (at === index ? { ...call, ...change } : call));
  return { ...world, calls };
}

export function place(world: World, index: number, worker: Worker | null): World {
  return { ...world, workers: world.workers.map((one, at) => (at === index ? worker : one)) };
}

export function move(world: World, protocol: Protocol, what: RunMove): World {
  return { ...world, run: protocol.moved(world.run, what) };
}

/** What an owner does that can do no more for the run: a write that is refused because of a cancel ends it. */
export function moveOrCancel(world: World, protocol: Protocol, what: RunMove): World {
  try {
    return move(world, protocol, what);
  } catch (error) {
    if (!(error instanceof runs.CancelRequestedError)) throw error;
    return endRun(world, protocol, 'CANCELLED');
  }
}

/** Stores how a call has ended with its one message, as the conditional updates of the repository do. */
export function settle(world: World, index: number, state: EffectState): World {
  const call = world.calls[index];
  if (!call) throw new Error(`There is no call ${index}.`);
  if (effects.isSettled(call.state)) return fault(world, 'a settled effect was settled again');
  if (call.results > 0) return fault(world, 'a second result of one call');
  return changeCall(world, index, { state, results: 1 });
}

/** Ends the run: every call gets its one result, whoever ends it. */
export function endRun(world: World, protocol: Protocol, wished: EndStatus): World {
  const status = protocol.endOf(world.run, wished);
  let ended = world;
  for (const [index, call] of world.calls.entries()) {
    if (call.results > 0) continue;
    ended = effects.isSettled(call.state)
      ? changeCall(ended, index, { results: 1 })
      : settle(ended, index, protocol.abandonedAs(call));
  }
  const calls = ended.calls.map((call) =>
    call.approval === 'PENDING' ? { ...call, approval: 'DENIED' as const } : call,
  );
  return move({ ...ended, calls }, protocol, { type: 'end', status });
}
