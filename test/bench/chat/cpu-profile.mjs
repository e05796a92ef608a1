/**
 * Microseconds of a V8 CPU profile: `self` by function, `inclusive` by function of Plinth with all it calls, and
 * `areas` by package or folder, where time in Node and V8 counts for the code that called them. A sample counts twice
 * its interval at most: a longer one is time in which another process had the core.
 */
export function timesOf({ nodes, samples, timeDeltas }, intervalUs) {
  const ownUs = new Map();
  samples.forEach((id, i) => add(ownUs, id, Math.min(timeDeltas[i], 2 * intervalUs)));
  const stackOf = stacks(nodes);
  const times = { self: new Map(), inclusive: new Map(), areas: new Map(), busy: 0 };
  for (const [id, us] of ownUs) {
    const stack = stackOf(id);
    if (stack[0].functionName === '(idle)') continue;
    times.busy += us;
    add(times.self, nameOf(stack[0]), us);
    add(times.areas, areaOf(stack), us);
    const names = new Set(stack.filter(isOwn).map(nameOf));
    for (const name of names) add(times.inclusive, name, us);
  }
  return times;
}

/** The call frames above a node of the tree, itself first, without the root. */
function stacks(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map();
  for (const { id, children = [] } of nodes) for (const child of children) parentOf.set(child, id);
  return (id) => {
    const frames = [];
    for (let at = id; parentOf.has(at); at = parentOf.get(at)) frames.push(byId.get(at).callFrame);
    return frames;
  };
}

function areaOf(stack) {
  const [{ functionName, url }] = stack;
  if (url === '' && functionName.startsWith('(')) return functionName;
  const caller = stack.find((frame) => /^file:|node_modules/.test(frame.url));
  if (caller) return ownFolder(caller) ?? packageOf(caller);
  // Work that Node put off: its outermost function says which.
  const outer = stack.filter((frame) => frame.functionName !== 'processTicksAndRejections').at(-1);
  return `node: ${outer?.functionName || 'ticks'}`;
}

function isOwn(frame) {
  return ownFolder(frame) !== undefined;
}

function ownFolder({ url }) {
  const folder = /dist\/src\/([^/]+)/.exec(shortened(url))?.[1];
  return folder && `src/${folder}`;
}

function packageOf({ url }) {
  return /^(?:@[^/]+\/)?[^/]+/.exec(shortened(url))[0];
}

function nameOf({ functionName, url, lineNumber }) {
  const name = functionName || '(anonymous)';
  return url === '' ? name : `${name}  ${shortened(url)}:${lineNumber + 1}`;
}

/** From the package or from `dist` on. */
function shortened(url) {
  const modules = url.lastIndexOf('node_modules/');
  if (modules !== -1) return url.slice(modules + 'node_modules/'.length);
  return url.replace(/^.*\/(?=[^/]*dist\/)/, '').replace(/^[^/]*dist\//, 'dist/');
}

function add(map, key, us) {
  map.set(key, (map.get(key) ?? 0) + us);
}
