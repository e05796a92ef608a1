import { readFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { msg } from '../../platform/message/index.js';
import { split } from '../../fragment/splitter/index.js';
import type { FragmentDraft } from '../../fragment/splitter/index.js';
import { readDocument } from './format/read-document.js';
import { Refusal } from './format/document-source.js';
import { failureOf } from './parse-failure.js';
import type { ParseAnswer, ParseOutcome, ParserTask, ParseTask, RenderTask } from './parse-task.js';

/**
 * The program of a parser process: answers each ParserTask with messages of ParseAnswer, the last of which is a ParseEnd.
 * Its only argument is the bytes of memory it may take.
 */

/** Characters and fragments in one message at most, about. */
const MESSAGE_LENGTH = 256 * 1_024;
const MESSAGE_FRAGMENTS = 1_000;

const FRAGMENT_LIMIT = 250_000;

const SAMPLE_LENGTH = 2_000;

/** Memory growth after the start, as a share of the limit, above which the process does not take another document. */
const GROWN_SHARE = 0.25;

const limitBytes = Number(process.argv[2]);
const startMemory = process.memoryUsage.rss();

async function answer(task: ParserTask): Promise<void> {
  const outcome = await (task.type === 'parse' ? parse(task) : render(task)).catch(failureOf);
  const grown = process.memoryUsage.rss() > startMemory + limitBytes * GROWN_SHARE;
  await send({ ...outcome, grown });
}

async function render({ path, ...how }: RenderTask): Promise<ParseOutcome> {
  const { renderPages } = await import('./format/page-image.js');
  for await (const image of renderPages(await readFile(path), how)) {
    await send({ type: 'image', image });
  }
  return { type: 'rendered' };
}

async function parse(task: ParseTask): Promise<ParseOutcome> {
  const { path, name, settings, limits, recognised } = task;
  const read = await readDocument({ bytes: await readFile(path), name }, limits, recognised);
  const { source, encoding, pages } = read;
  const fragments = split(source, settings);
  if (fragments.length > FRAGMENT_LIMIT) {
    throw new Refusal(
      msg`The document splits into ${fragments.length} fragments, the limit is ${FRAGMENT_LIMIT}. Raise the text block size of the knowledge base, or split the document.`,
    );
  }
  for (const batch of batchesOf(fragments)) await send({ type: 'fragments', fragments: batch });
  const document = {
    kind: source.kind,
    characters: source.text.length,
    sample: source.text.slice(0, SAMPLE_LENGTH).toWellFormed(),
    ...(encoding !== undefined && { encoding }),
    ...(pages !== undefined && { pages }),
  };
  return { type: 'parsed', document };
}

function* batchesOf(fragments: readonly FragmentDraft[]): Generator<FragmentDraft[]> {
  let batch: FragmentDraft[] = [];
  let length = 0;
  for (const fragment of fragments) {
    batch.push(fragment);
    length += fragment.content.length;
    if (length < MESSAGE_LENGTH && batch.length < MESSAGE_FRAGMENTS) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Resolves when the message is on its way, so that a large document does not pile up in the channel. */
function send(message: ParseAnswer): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!process.send) throw new Error('This program runs only as a child process with a channel.');
    process.send(message, undefined, undefined, (error) => (error ? reject(error) : resolve()));
  });
}

// The service comes first where both want the processor.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const guard = new Worker(new URL('./memory-guard.worker.js', import.meta.url), {
  workerData: { limitBytes: startMemory + limitBytes, parent: process.ppid },
});
guard.unref();
// Signals to the service may reach this process, too; the service decides when it ends.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (task: ParserTask) => void answer(task));
