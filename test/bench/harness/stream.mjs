// A reader of event streams that looks at every frame once.
import { once } from 'node:events';
import { get } from 'node:http';

/** Opens a stream; `on(event, now)` is called for each event. Resolves when the response has begun. */
export async function openStream({ port, headers }, path, on) {
  const began = performance.now();
  const request = get({ port, headers, path, agent: false });
  const [response] = await once(request, 'response');
  if (response.statusCode !== 200) throw new Error(`${path}: HTTP ${response.statusCode}`);
  const stream = {
    began,
    events: 0,
    last: 0,
    gaps: 0,
    synced: undefined,
    first: undefined,
    ended: once(response, 'close'),
    leave: () => response.destroy(),
  };
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (text) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) take(stream, block, on);
  });
  return stream;
}

function take(stream, block, on) {
  if (block.startsWith(': sync')) stream.synced = performance.now();
  if (block.startsWith(':')) return;
  const event = JSON.parse(block.slice(block.indexOf('\ndata: ') + 7));
  stream.first ??= performance.now();
  stream.events += 1;
  if (event.sequence !== stream.last + 1) stream.gaps += 1;
  stream.last = event.sequence;
  on?.(event, Date.now());
}
