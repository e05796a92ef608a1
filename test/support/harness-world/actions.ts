import { isEnded, isParked } from '../../../src/harness/protocol/run.state.js';
import { changeCall, endRun, move, moveOrCancel, place } from './world.js';
import type { Chances, Protocol, Script, World } from './world.js';
import { WorkerProgram } from './worker.js';

/** Something that may happen next. */
export interface Action {
  readonly name: string;
  readonly kind: 'worker' | 'harm' | 'person';
  apply(world: World): World;
}

/** Everything that may happen to a run: what its workers do, what goes wrong, and what people do. */
export class Happenings {
  readonly program: WorkerProgram;

  constructor(
    private readonly protocol: Protocol,
    script: Script,
  ) {
    this.program = new WorkerProgram(protocol, script);
  }

  of(world: World): Action[] {
    return [...this.work(world), ...this.harm(world), ...this.people(world)];
  }

  /** What the workers may do now. */
  work(world: World): Action[] {
    return world.workers.flatMap((worker, index): Action[] => {
      const kind = 'worker';
      if (worker) {
        const { at } = worker.place;
        return [{ kind, name: `${index} ${at}`, apply: (now) => this.program.step(now, index) }];
      }
      if (this.protocol.claimOf(world.run) === 'leave') return [];
      return [{ kind, name: `${index} claims`, apply: (now) => this.program.claim(now, index) }];
    });
  }

  /** A lease whose holder is gone ends by itself: the one thing that needs no chance. */
  runsOut(world: World): boolean {
    const { lease, fence } = world.run;
    return lease === 'HELD' && !world.workers.some((worker) => worker?.fence === fence);
  }

  expire(world: World): World {
    return { ...world, run: { ...world.run, lease: 'EXPIRED' } };
  }

  private harm(world: World): Action[] {
    const kind = 'harm';
    const actions: Action[] = [];
    const add = (chance: keyof Chances, name: string, apply: (now: World) => World): void => {
      if (world.chances[chance] === 0) return;
      actions.push({ kind, name, apply: (now) => apply(spend(now, chance)) });
    };
    for (const [index, worker] of world.workers.entries()) {
      if (!worker) continue;
      add('crashes', `${index} crashes`, (now) => place(now, index, null));
      const holds = world.run.lease === 'HELD' && worker.fence === world.run.fence;
      if (!holds) continue;
      add('expiries', 'the lease ends under its holder', (now) => this.expire(now));
      const { at } = worker.place;
      if (at === 'work' || at === 'asked' || at === 'settle') {
        add('releases', `${index} gives the run back`, (now) =>
          place(moveOrCancel(now, this.protocol, { type: 'release' }), index, null),
        );
      }
      if (world.run.cancelRequested && (at === 'work' || at === 'asked' || at === 'settle')) {
        // Sooner or later a renewal tells it; that may be after whatever else the worker does.
        const leave = (now: World) => place(endRun(now, this.protocol, 'CANCELLED'), index, null);
        actions.push({ kind, name: `${index} is told of the cancel`, apply: leave });
      }
      if (at === 'asked') {
        add('outages', 'the model is away', (now) =>
          place(
            moveOrCancel(now, this.protocol, { type: 'park', waitKind: 'PROVIDER' }),
            index,
            null,
          ),
        );
      }
    }
    for (const [index, { effectClass, state }] of world.calls.entries()) {
      if (effectClass !== 'FILE' || state !== 'STARTED') continue;
      add('meddlings', `the files of ${index} are changed`, (now) =>
        changeCall(now, index, { files: 'OTHER' }),
      );
    }
    if (this.runsOut(world)) {
      actions.push({ kind, name: 'the lease ends', apply: (now) => this.expire(now) });
    }
    return actions;
  }

  /** What people may do now. */
  people(world: World): Action[] {
    if (isEnded(world.run.status)) return [];
    const kind = 'person';
    const actions: Action[] = [...this.answers(world), ...this.parked(world)];
    if (world.run.cancelRequested) {
      const apply = (now: World): World => endRun(now, this.protocol, 'CANCELLED');
      actions.push({ kind, name: 'the cancel is forced', apply });
    } else if (world.chances.cancels > 0) {
      actions.push({ kind, name: 'cancel', apply: (now) => this.cancel(spend(now, 'cancels')) });
    }
    return actions;
  }

  private cancel(world: World): World {
    if (this.protocol.endsAtOnce(world.run)) return endRun(world, this.protocol, 'CANCELLED');
    return move(world, this.protocol, { type: 'request-cancel' });
  }

  /** The run goes on once the last of what it waits for is answered. */
  private answers(world: World): Action[] {
    const kind = 'person';
    return world.calls.flatMap((call, index): Action[] => {
      if (call.approval === 'PENDING') {
        return (['APPROVED', 'DENIED'] as const).map((approval) => ({
          kind,
          name: `${index} ${approval}`,
          apply: (now) => this.goOn(changeCall(now, index, { approval })),
        }));
      }
      // Also before the run waits for it.
      if (call.state !== 'UNCERTAIN') return [];
      return (['SUCCEEDED', 'NOT_EXECUTED'] as const).map((state) => ({
        kind,
        name: `${index} resolved as ${state}`,
        apply: (now) => this.goOn(changeCall(now, index, { state, resolved: true })),
      }));
    });
  }

  private goOn(world: World): World {
    const waits = world.calls.some(
      ({ approval, state, results }) =>
        approval === 'PENDING' || (state === 'UNCERTAIN' && results === 0),
    );
    return waits || !isParked(world.run) ? world : move(world, this.protocol, { type: 'resume' });
  }

  private parked(world: World): Action[] {
    const kind = 'person';
    const resume = (name: string, apply: (now: World) => World): Action => ({ kind, name, apply });
    if (world.run.waitKind === 'PROVIDER') {
      return [resume('resume', (now) => move(now, this.protocol, { type: 'resume' }))];
    }
    if (world.run.waitKind !== 'PLAN') return [];
    const approve = resume('the plan is approved', (now) =>
      move(now, this.protocol, { type: 'resume', phase: 'BUILD' }),
    );
    if (world.chances.revisions === 0) return [approve];
    const revise = resume('the plan is sent back', (now) =>
      move({ ...spend(now, 'revisions'), planned: false }, this.protocol, {
        type: 'resume',
        phase: 'PLAN',
      }),
    );
    return [approve, revise];
  }
}

function spend(world: World, chance: keyof Chances): World {
  return { ...world, chances: { ...world.chances, [chance]: world.chances[chance] - 1 } };
}
