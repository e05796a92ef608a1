import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isEnded, MAX_RECOVERIES } from '../../../src/harness/protocol/run.state.js';
import { Happenings } from '../../support/harness-world/actions.js';
import { answered, brokenRules, leftAlone } from '../../support/harness-world/rules.js';
import { newWorld, NO_CHANCES, realProtocol } from '../../support/harness-world/world.js';
import type { Chances, Protocol, Script, World } from '../../support/harness-world/world.js';

const RUNS = 3_000;

const anyCall = fc.record({
  effectClass: fc.constantFrom('READ', 'META', 'FILE', 'SHELL'),
  asks: fc.boolean(),
} as const);

const anyScript: fc.Arbitrary<Script> = fc.record({
  plan: fc.boolean(),
  turns: fc.array(fc.array(anyCall, { minLength: 1, maxLength: 2 }), { maxLength: 3 }),
});

/** Which of the things that may happen does; worker steps are the likely ones, or no run would get anywhere. */
const anyChoices = fc.array(fc.nat(), { minLength: 5, maxLength: 150 });

const MANY: Chances = {
  crashes: 12,
  expiries: 6,
  releases: 3,
  outages: 2,
  cancels: 1,
  meddlings: 1,
  revisions: 2,
};

const oneCommand: Script = { plan: false, turns: [[{ effectClass: 'SHELL', asks: false }]] };
const twoCrashes: Chances = { ...NO_CHANCES, crashes: 2, expiries: 1, releases: 1, cancels: 1 };

function pick(happenings: Happenings, world: World, choice: number): World {
  const actions = happenings.of(world);
  const likely = actions.flatMap((action) =>
    action.kind === 'worker' ? Array.from({ length: 6 }, () => action) : [action],
  );
  return likely[choice % Math.max(1, likely.length)]?.apply(world) ?? world;
}

/** Every state that can be reached, and the rules that are broken on the way; what breaks one is not followed further. */
function explore(
  protocol: Protocol,
  script: Script,
  chances: Chances,
): { readonly states: number; readonly ends: string[]; readonly broken: string[] } {
  const happenings = new Happenings(protocol, script);
  const start = newWorld(script, chances);
  const known = new Set([JSON.stringify(start)]);
  const ends = new Set<string>();
  const broken = new Set<string>();
  const waiting = [start];
  for (let world = waiting.pop(); world; world = waiting.pop()) {
    if (isEnded(world.run.status)) ends.add(world.run.status);
    if (!leftAlone(happenings, world))
      broken.add('a run that is left alone neither ends nor parks');
    for (const action of happenings.of(world)) {
      const next = action.apply(world);
      const rules = brokenRules(world, next);
      for (const rule of rules) broken.add(rule);
      const key = JSON.stringify(next);
      if (rules.length > 0 || known.has(key)) continue;
      known.add(key);
      waiting.push(next);
    }
  }
  return { states: known.size, ends: [...ends].sort(), broken: [...broken].sort() };
}

describe('the protocol of a run', () => {
  it('keeps its rules whatever happens, and every run ends or waits for a person', () => {
    fc.assert(
      fc.property(anyScript, anyChoices, (script, choices) => {
        const happenings = new Happenings(realProtocol, script);
        let world = newWorld(script, MANY);
        for (const choice of choices) {
          const next = pick(happenings, world, choice);
          expect(brokenRules(world, next)).toEqual([]);
          world = next;
        }
        const alone = leftAlone(happenings, world);
        expect(alone).toBeDefined();
        const end = answered(happenings, world);
        expect(end && brokenRules(world, end)).toEqual([]);
        expect(end && isEnded(end.run.status)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  }, 180_000);

  it('completes every run that nothing happens to, with each call executed once', () => {
    fc.assert(
      fc.property(anyScript, (script) => {
        const happenings = new Happenings(realProtocol, script);
        const end = answered(happenings, newWorld(script, NO_CHANCES));
        expect(end?.run).toMatchObject({ status: 'COMPLETED', recoveryAttempts: 0 });
        expect(end?.calls.map(({ executions }) => executions)).toEqual(
          script.turns.flat().map(() => 1),
        );
      }),
    );
  });

  it('gives a run up after five recoveries, whenever its owners die', () => {
    fc.assert(
      fc.property(anyScript, fc.array(fc.nat({ max: 4 }), { minLength: 20 }), (script, lives) => {
        const happenings = new Happenings(realProtocol, script);
        let world = newWorld(script, { ...NO_CHANCES, crashes: 100 });
        for (const steps of lives) {
          const [claim] = happenings.work(world);
          if (claim) world = claim.apply(world);
          for (let step = 0; step < steps; step += 1) world = happenings.program.step(world, 0);
          world = { ...world, workers: [null, null] };
          if (happenings.runsOut(world)) world = happenings.expire(world);
        }
        expect(world.run.recoveryAttempts).toBeLessThanOrEqual(MAX_RECOVERIES);
        const end = answered(happenings, world);
        expect(end && isEnded(end.run.status)).toBe(true);
      }),
      { numRuns: 300 },
    );
    const stubborn = new Happenings(realProtocol, oneCommand);
    let world = newWorld(oneCommand, NO_CHANCES);
    for (let life = 0; life <= MAX_RECOVERIES; life += 1) {
      world = stubborn.program.claim(world, 0);
      expect(world.run).toMatchObject({ status: 'RUNNING', recoveryAttempts: life });
      world = stubborn.expire({ ...world, workers: [null, null] });
    }
    expect(stubborn.program.claim(world, 1).run).toMatchObject({ status: 'FAILED', lease: 'NONE' });
  });

  it('keeps its rules in all of the more than 1,000 states of one command, two workers and two crashes', () => {
    const { states, ends, broken } = explore(realProtocol, oneCommand, twoCrashes);
    expect(broken).toEqual([]);
    expect(states).toBeGreaterThan(1_000);
    expect(ends).toEqual(['CANCELLED', 'COMPLETED']);
    process.stdout.write(`States of one command: ${states}\n`);
  });

  it.each(['READ', 'META', 'FILE'] as const)(
    'keeps them in all states of one call of the class %s',
    (effectClass) => {
      const script = { plan: false, turns: [[{ effectClass, asks: false }]] };
      const chances = { ...NO_CHANCES, crashes: 2, expiries: 1, cancels: 1, meddlings: 1 };
      expect(explore(realProtocol, script, chances).broken).toEqual([]);
    },
  );
});

describe('the rules are broken, and it is seen,', () => {
  it('when a recovery claims effects that have ended already', () => {
    const { broken } = explore(
      {
        ...realProtocol,
        isUnanswered: ({ state, results }) => state === 'NOT_EXECUTED' || results === 0,
        reconciliationOf: (facts, how) =>
          facts.state === 'NOT_EXECUTED'
            ? 'not-executed'
            : realProtocol.reconciliationOf(facts, how),
      },
      oneCommand,
      twoCrashes,
    );
    expect(broken).toEqual([
      'a run that is left alone neither ends nor parks',
      'a settled effect was settled again',
    ]);
  });

  it('when a run waits, or ends otherwise, that is to be cancelled', () => {
    const { moved, endOf } = realProtocol;
    const asked: Script = { plan: false, turns: [[{ effectClass: 'SHELL', asks: true }]] };
    const { broken } = explore(
      {
        ...realProtocol,
        endOf: (state, wished) => (wished === 'COMPLETED' ? wished : endOf(state, wished)),
        moved: (state, move) => {
          const told = { ...state, cancelRequested: false };
          const cancelRequested = state.cancelRequested || move.type === 'request-cancel';
          return { ...moved(told, move), cancelRequested };
        },
      },
      asked,
      { ...NO_CHANCES, cancels: 1, outages: 1 },
    );
    expect(broken).toEqual(
      expect.arrayContaining([
        'a run that is to be cancelled is COMPLETED',
        'a run that is to be cancelled is SUSPENDED',
        'a run that is to be cancelled is WAITING_FOR_APPROVAL',
      ]),
    );
  });

  it('when a command that has begun is executed again', () => {
    const { broken } = explore(
      {
        ...realProtocol,
        reconciliationOf: (facts, how) =>
          facts.state === 'STARTED' ? 'execute' : realProtocol.reconciliationOf(facts, how),
      },
      oneCommand,
      twoCrashes,
    );
    expect(broken).toContain('a command was executed twice');
  });
});
