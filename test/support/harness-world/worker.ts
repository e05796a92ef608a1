import { isSettled } from '../../../src/effect/index.js';
import type { WaitKind } from '../../../src/harness/protocol/run.state.js';
import { changeCall, endRun, fault, move, moveOrCancel, newCall, place, settle } from './world.js';
import type { Call, Protocol, Script, Worker, World } from './world.js';

/** One step of the program that a worker runs for a run it has claimed (harness design, 7.7). */
export class WorkerProgram {
  constructor(
    private readonly protocol: Protocol,
    private readonly script: Script,
  ) {}

  /** Takes the run up, or ends it when it is to be cancelled or that was tried too often. */
  claim(world: World, index: number): World {
    const what = this.protocol.claimOf(world.run);
    if (what === 'cancel') return endRun(world, this.protocol, 'CANCELLED');
    if (what === 'give-up') return endRun(world, this.protocol, 'FAILED');
    const claimed = move(world, this.protocol, { type: 'claim' });
    return place(claimed, index, { fence: claimed.run.fence, place: { at: 'settle' } });
  }

  /** The same world when the worker has to wait. */
  step(world: World, index: number): World {
    const worker = world.workers[index];
    if (!worker) return world;
    const { at } = worker.place;
    switch (at) {
      case 'begun':
      case 'acting':
        return this.act(world, index, worker);
      case 'rolling':
        return this.rollBack(world, index, worker);
      case 'settle':
        return this.asOwner(world, index, (held) => this.settleNext(held, index, worker));
      case 'acted':
        return this.asOwner(world, index, (held) => this.writeOutcome(held, index, worker));
      case 'work':
        return this.asOwner(world, index, (held) => this.work(held, index, worker));
      case 'asked':
        return this.asOwner(world, index, (held) => this.storeAnswer(held, index, worker));
    }
  }

  /** A write under the run's lock: the holder of the lease alone may do it, anybody else has lost it and stops. */
  private asOwner(world: World, index: number, write: (held: World) => World): World {
    const worker = world.workers[index];
    const holds = world.run.lease === 'HELD' && world.run.fence === worker?.fence;
    return holds ? write(world) : place(world, index, null);
  }

  /** Outside of the database nothing asks for the lease: here a worker that has lost it may act once more. */
  private act(world: World, index: number, worker: Worker): World {
    const { at, number, call } = callOf(world, worker);
    if (call.effectClass === 'FILE' && at === 'begun') {
      const half = changeCall(world, number, { files: 'MIXED' });
      return place(half, index, { ...worker, place: { at: 'acting', call: number } });
    }
    const executions = call.executions + 1;
    const acted = changeCall(world, number, { executions, files: 'AFTER' });
    return place(acted, index, { ...worker, place: { at: 'acted', call: number } });
  }

  private rollBack(world: World, index: number, worker: Worker): World {
    const { number } = callOf(world, worker);
    const back = changeCall(world, number, { files: 'BEFORE' });
    return this.asOwner(back, index, (held) =>
      place(settle(held, number, 'NOT_EXECUTED'), index, { ...worker, place: { at: 'settle' } }),
    );
  }

  private writeOutcome(world: World, index: number, worker: Worker): World {
    const { number } = callOf(world, worker);
    return place(settle(world, number, 'SUCCEEDED'), index, { ...worker, place: { at: 'work' } });
  }

  /** Settles the first call for which something is to be done; when there is none, the run goes on or parks. */
  private settleNext(world: World, index: number, worker: Worker): World {
    const { recovering } = world.run;
    for (const [number, call] of world.calls.entries()) {
      if (!this.protocol.isUnanswered(call)) continue;
      if (this.isBusyElsewhere(world, index, number)) return world;
      const filesFound = call.files;
      switch (this.protocol.reconciliationOf(call, { recovering, filesFound })) {
        case 'execute':
          break;
        case 'write-result':
          if (call.results > 0) return fault(world, 'a second result of one call');
          return changeCall(world, number, { results: 1 });
        case 'not-executed':
          return settle(world, number, 'NOT_EXECUTED');
        case 'succeeded':
          return settle(world, number, 'SUCCEEDED');
        case 'roll-back':
          return place(world, index, { ...worker, place: { at: 'rolling', call: number } });
        case 'uncertain':
          if (call.state === 'UNCERTAIN') break;
          return changeCall(world, number, { state: 'UNCERTAIN' });
      }
    }
    return this.settled(world, index, worker);
  }

  private settled(world: World, index: number, worker: Worker): World {
    if (world.calls.some(({ state, results }) => state === 'UNCERTAIN' && results === 0)) {
      return this.park(world, index, 'EFFECT');
    }
    const going = world.run.recovering ? move(world, this.protocol, { type: 'recovered' }) : world;
    return place(going, index, { ...worker, place: { at: 'work' } });
  }

  /** Who has begun to change files holds the workspace until it has noticed that it lost the run, or is gone. */
  private isBusyElsewhere(world: World, index: number, number: number): boolean {
    const call = world.calls[number];
    if (call?.effectClass !== 'FILE' || isSettled(call.state)) return false;
    return world.workers.some(
      (other, at) =>
        at !== index &&
        other &&
        'call' in other.place &&
        other.place.call === number &&
        other.place.at !== 'acted',
    );
  }

  private work(world: World, index: number, worker: Worker): World {
    const open = world.calls.findIndex(
      ({ results, asks, approval }) =>
        results === 0 && (!asks || approval === 'APPROVED' || approval === 'DENIED'),
    );
    if (open >= 0) return this.begin(world, index, { worker, number: open });
    if (world.calls.some(({ results }) => results === 0)) return this.ask(world, index);
    return place(world, index, { ...worker, place: { at: 'asked' } });
  }

  private begin(
    world: World,
    index: number,
    { worker, number }: { readonly worker: Worker; readonly number: number },
  ): World {
    const call = world.calls[number];
    // What has begun and is to be executed again is what the settlement says; whether it may is what the rules are for.
    if (call?.state !== 'PREPARED' && call?.state !== 'STARTED') {
      return fault(world, 'a call was begun that is not open');
    }
    if (call.approval === 'DENIED') return settle(world, number, 'DENIED');
    if (call.effectClass === 'META') {
      return settle(changeCall(world, number, { executions: 1 }), number, 'SUCCEEDED');
    }
    if (call.effectClass === 'READ') {
      const read = changeCall(world, number, { executions: call.executions + 1 });
      return place(read, index, { ...worker, place: { at: 'acted', call: number } });
    }
    const started = changeCall(world, number, { state: 'STARTED' });
    return place(started, index, { ...worker, place: { at: 'begun', call: number } });
  }

  /** Everything else of the message is done: what needs consent is asked for, and the run waits. */
  private ask(world: World, index: number): World {
    const calls = world.calls.map((call) =>
      call.results === 0 ? { ...call, approval: 'PENDING' as const } : call,
    );
    return this.park({ ...world, calls }, index, 'TOOL');
  }

  private park(world: World, index: number, waitKind: WaitKind): World {
    return place(moveOrCancel(world, this.protocol, { type: 'park', waitKind }), index, null);
  }

  /** The model has answered: a plan, calls, or its last words. */
  private storeAnswer(world: World, index: number, worker: Worker): World {
    if (world.calls.some(({ results }) => results !== 1)) {
      return fault(world, 'the model was asked while a call had no result');
    }
    if (world.run.phase === 'PLAN' && !world.planned) {
      return this.park({ ...world, planned: true }, index, 'PLAN');
    }
    const turn = this.script.turns[world.turn];
    if (!turn || turn.length === 0) {
      return place(endRun(world, this.protocol, 'COMPLETED'), index, null);
    }
    const calls = [...world.calls, ...turn.map(newCall)];
    return place({ ...world, calls, turn: world.turn + 1 }, index, {
      ...worker,
      place: { at: 'work' },
    });
  }
}

function callOf(
  world: World,
  { place: where }: Worker,
): { readonly at: string; readonly number: number; readonly call: Call } {
  if (!('call' in where)) throw new Error(`The worker is at ${where.at}, with no call.`);
  const call = world.calls[where.call];
  if (!call) throw new Error(`There is no call ${where.call}.`);
  return { at: where.at, number: where.call, call };
}
