import { WebSocket } from 'undici';
import { load } from './load.mjs';
import { printTable, shown } from './report.mjs';

const SAMPLE_US = 250;
const SHORT = { model: 'mock-n20', connections: 32 };

/** Where Plinth spends its core under 20-chunk turns at 32 connections, the start and the warm-up left out. */
export async function profilePlinth(bench, { inspectorPort, seconds }) {
  await load(bench, bench.plinth, { ...SHORT, seconds: 3 });
  const inspector = await Inspector.connect(inspectorPort);
  await inspector.call('Profiler.enable');
  await inspector.call('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  await inspector.call('Profiler.start');
  const result = await load(bench, bench.plinth, { ...SHORT, seconds, warm: 0 });
  const { profile } = await inspector.call('Profiler.stop');
  inspector.close();
  printProfile(profile, result);
  return profile;
}

function printProfile(profile, result) {
  const { self, inclusive, areas, busy } = times(profile);
  const share = (us) => `${((100 * us) / busy).toFixed(1)} %`;
  const perTurn = (us) => shown((us / busy) * result.cpuPerTurnUs);
  console.log(`${result.ok} turns, ${shown(result.turnsPerSecond)} a second, profiler included:`);
  console.log(
    `the process used ${result.targetCpu} % of a core, ${shown(result.cpuPerTurnUs)} us a turn`,
  );
  const table = (title, entries, count) => {
    console.log(`\n${title}`);
    const sorted = [...entries].sort((a, b) => b[1] - a[1]).slice(0, count);
    printTable([
      ['share', 'us a turn', 'where'],
      ...sorted.map(([where, us]) => [share(us), perTurn(us), where]),
    ]);
  };
  table('Areas, self time', areas, 30);
  table('Functions, self time', self, 40);
  table('Functions of Plinth, with all they call', inclusive, 40);
}

/**
 * Self and inclusive microseconds by function, and self time by package or folder. A sample counts twice its
 * interval at most: a longer one is time in which another process had the core.
 */
function times({ nodes, samples, timeDeltas }) {
  const selfOfNode = new Map(nodes.map(({ id }) => [id, 0]));
  samples.forEach((id, i) => {
    selfOfNode.set(id, selfOfNode.get(id) + Math.min(timeDeltas[i], 2 * SAMPLE_US));
  });
  const parentOf = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const sums = { self: new Map(), inclusive: new Map(), areas: new Map(), busy: 0 };
  for (const { id, callFrame } of nodes) {
    const us = selfOfNode.get(id);
    if (us === 0 || callFrame.functionName === '(idle)') continue;
    sums.busy += us;
    add(sums.self, nameOf(callFrame), us);
    add(sums.areas, areaOf(callFrame), us);
    const seen = new Set();
    for (let at = id; at !== undefined; at = parentOf.get(at))
      seen.add(nameOf(byId.get(at).callFrame));
    for (const name of seen) if (name.includes('dist/src/')) add(sums.inclusive, name, us);
  }
  return sums;
}

function add(map, key, us) {
  map.set(key, (map.get(key) ?? 0) + us);
}

function nameOf({ functionName, url, lineNumber }) {
  const name = functionName || '(anonymous)';
  return url === '' ? name : `${name}  ${shortened(url)}:${lineNumber + 1}`;
}

function areaOf({ functionName, url }) {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native';
  const path = shortened(url);
  const own = /dist\/src\/([^/]+)/.exec(path);
  if (own) return `src/${own[1]}`;
  return /^(?:@[^/]+\/)?[^/]+/.exec(path)[0];
}

function shortened(url) {
  const modules = url.lastIndexOf('node_modules/');
  if (modules !== -1) return url.slice(modules + 'node_modules/'.length);
  return url.replace(/^.*\/(?=[^/]*dist\/)/, '').replace(/^[^/]*dist\//, 'dist/');
}

/** The few calls of the Chrome DevTools protocol that a profile takes. */
class Inspector {
  #open = new Map();
  #lastId = 0;

  static async connect(port) {
    const [{ webSocketDebuggerUrl }] = await (
      await fetch(`http://127.0.0.1:${port}/json/list`)
    ).json();
    const inspector = new Inspector();
    inspector.socket = new WebSocket(webSocketDebuggerUrl);
    inspector.socket.onmessage = ({ data }) => inspector.#answer(JSON.parse(data));
    await new Promise((done, fail) => {
      inspector.socket.onopen = done;
      inspector.socket.onerror = () => fail(new Error('The inspector does not answer'));
    });
    return inspector;
  }

  call(method, params = {}) {
    this.#lastId += 1;
    this.socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return new Promise((done, fail) => this.#open.set(this.#lastId, { done, fail }));
  }

  close() {
    this.socket.close();
  }

  #answer({ id, result, error }) {
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    if (error) waiting?.fail(new Error(error.message));
    else waiting?.done(result);
  }
}
