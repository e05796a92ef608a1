import { median } from './median.mjs';

const LIMITS = { long: 0.5, short: 0.12, firstExtraMs: 3, memoryMb: 150, idleMb: 250 };

/** The goals, each with what was measured. Ratios and differences are medians of the rounds' own. */
export function goalsOf(rounds, open, { idle, streams }) {
  const ratio = (name) =>
    rounds.map((r) => r[name].plinth.turnsPerSecond / r[name].proxy.turnsPerSecond);
  const rate = (name, target) => median(rounds.map((r) => r[name][target].turnsPerSecond));
  const extra = rounds.map(
    ({ first, commitMs }) => first.plinth.firstChunkMs - first.proxy.firstChunkMs - commitMs,
  );
  const firstMs = (target) => median(rounds.map((r) => r.first[target].firstChunkMs));
  const throughput = (goal, name) => ({
    goal: `${goal}, part of the proxy's turns a second`,
    proxy: rate(name, 'proxy'),
    plinth: rate(name, 'plinth'),
    measured: median(ratio(name)),
    range: rangeOf(ratio(name)),
    limit: `>= ${LIMITS[name]}`,
    met: median(ratio(name)) >= LIMITS[name],
  });
  return [
    throughput('200 chunks, 32 connections', 'long'),
    throughput('20 chunks, 32 connections', 'short'),
    {
      goal: 'first chunk, 1 connection, ms over proxy and bare commit',
      proxy: firstMs('proxy'),
      plinth: firstMs('plinth'),
      measured: median(extra),
      range: rangeOf(extra),
      limit: `<= ${LIMITS.firstExtraMs}`,
      met: median(extra) <= LIMITS.firstExtraMs,
    },
    {
      goal: `${streams} open streams, at once at the mock`,
      proxy: open.proxy.peakOpen,
      plinth: open.plinth.peakOpen,
      measured: open.plinth.peakOpen,
      limit: `>= ${streams}`,
      met: open.plinth.peakOpen >= streams,
    },
    {
      goal: `${streams} open streams, MB above idle`,
      proxy: open.proxy.aboveIdleMb,
      plinth: open.plinth.aboveIdleMb,
      measured: open.plinth.aboveIdleMb,
      limit: `<= ${LIMITS.memoryMb}`,
      met: open.plinth.aboveIdleMb <= LIMITS.memoryMb,
    },
    {
      goal: 'idle after all of it, MB',
      proxy: idle.proxy,
      plinth: idle.plinth,
      measured: idle.plinth,
      limit: `<= ${LIMITS.idleMb}`,
      met: idle.plinth <= LIMITS.idleMb,
    },
  ];
}

/** What must never happen, whatever the machine: each entry is one sentence. */
export function lossesOf(rounds, { open, stored, streams }) {
  const losses = [];
  const expect = (actual, wanted, what) => {
    if (actual !== wanted) losses.push(`${what}: ${actual}, expected ${wanted}`);
  };
  const runs = [['open streams', open], ...rounds.flatMap((round) => namedRuns(round))];
  for (const [name, targets] of runs) {
    for (const [target, result] of Object.entries(targets)) {
      const fails = JSON.stringify(result.fails);
      expect(result.lost, 0, `${name}, ${target}: answers cut, refused or out of order ${fails}`);
    }
  }
  expect(open.plinth.ok, streams, 'open streams: answers that arrived whole');
  expect(open.plinth.unfinished, 0, 'open streams: not ended in time');
  expect(open.plinth.stored, streams, 'open streams: complete answers stored');
  expect(open.plinth.messages, 2 * streams, 'open streams: messages stored');
  expect(stored.messages, 2 * stored.questions, 'all runs: messages, two for each turn');
  expect(stored.answers, stored.questions, 'all runs: answers stored');
  expect(stored.wrong, 0, 'all runs: complete answers with a wrong text');
  expect(stored.failed, 0, 'all runs: failed turns');
  expect(stored.upstreamOpen, 0, 'all runs: upstream calls left open');
  const arrived = runs.reduce((sum, [, { plinth }]) => sum + plinth.ok, 0);
  if (stored.complete < arrived)
    losses.push(`${arrived} answers arrived, ${stored.complete} stored`);
  return losses;
}

function namedRuns({ long, short, first }) {
  return Object.entries({ long, short, first });
}

export function printReport({ goals, losses, rounds, open, stored, setting }) {
  console.log(
    `\n${setting.cpu}, Node ${setting.node}, PostgreSQL ${setting.postgres}; ${setting.text}`,
  );
  console.log(`other programs used ${shown(setting.othersPercent)} % of the machine meanwhile\n`);
  const rows = goals.map((goal) => [
    goal.goal,
    shown(goal.proxy),
    shown(goal.plinth),
    shown(goal.measured),
    goal.range ? goal.range.map(shown).join(' to ') : '',
    goal.limit,
    goal.met ? 'PASS' : 'MISSED',
  ]);
  printTable([['goal', 'proxy', 'Plinth', 'measured', 'rounds', 'limit', ''], ...rows]);
  const commit = median(rounds.map((round) => round.commitMs));
  console.log(`\nbare commit ${shown(commit)} ms`);
  printCpu(rounds);
  printStoring(rounds);
  for (const [target, run] of Object.entries(open)) printOpen(target, run);
  console.log(
    `stored: ${stored.messages} messages of ${stored.questions} turns (${stored.complete} complete, ${stored.answers - stored.complete - stored.failed} cut by the end of a timed run), upstream calls left open: ${stored.upstreamOpen}`,
  );
  console.log(losses.length === 0 ? 'nothing lost: PASS' : `LOST:\n- ${losses.join('\n- ')}`);
}

function printOpen(target, run) {
  const { p50, p99 } = run.chunkLagMs;
  console.log(
    `open streams, ${target}: ${run.ok} whole, first chunk ${shown(run.firstChunkMs)} ms, chunk lag p50 ${shown(p50)} ms, p99 ${shown(p99)} ms, ${shown(run.cpuPerChunkUs)} us CPU a chunk, core ${run.targetCpu} % busy, idle ${shown(run.idleMb)} MB, peak ${shown(run.peakMb)} MB`,
  );
}

/** CPU time says more than turns a second when other programs share the cores. */
function printCpu(rounds) {
  for (const [name, chunks] of [
    ['long', 200],
    ['short', 20],
  ]) {
    const of = (target) => median(rounds.map((round) => round[name][target].cpuPerTurnUs));
    const busy = median(rounds.map((round) => round[name].plinth.targetCpu));
    const [proxy, plinth] = [of('proxy'), of('plinth')];
    console.log(
      `${chunks} chunks: CPU time per turn ${shown(plinth)} us (proxy ${shown(proxy)}; ${shown(proxy / plinth)}), Plinth's core ${shown(busy)} % busy with it`,
    );
  }
}

/** What storing alone leaves of the proxy. */
function printStoring(rounds) {
  const of = (target) => rounds.map(({ short }) => short[target].turnsPerSecond);
  const parts = rounds.map(({ short: { proxy, storing } }) => {
    return storing.turnsPerSecond / proxy.turnsPerSecond;
  });
  console.log(
    `20 chunks, a proxy that stores both messages and does nothing else: ${shown(median(of('storing')))} a second, ${shown(median(parts))} of the proxy (${rangeOf(parts).map(shown).join(' to ')})`,
  );
}

export function printTable(rows) {
  const widths = rows[0].map((_, column) =>
    Math.max(...rows.map((row) => String(row[column]).length)),
  );
  for (const row of rows) {
    console.log(
      row
        .map((cell, i) => String(cell).padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    );
  }
}

export function shown(number) {
  if (Math.abs(number) >= 100) return number.toFixed(0);
  return number.toFixed(Math.abs(number) >= 10 ? 1 : 3);
}

function rangeOf(numbers) {
  return [Math.min(...numbers), Math.max(...numbers)];
}
