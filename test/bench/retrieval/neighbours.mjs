// Whether neighbours bring more answers into the prompt than more fragments do: `node test/bench/retrieval/neighbours.mjs`.
// The paragraphs of xquad-es lie five by five in articles. Each question has its answer somewhere in one paragraph, so the
// share of that paragraph that is in the prompt is the share of the answers that are. Exit code 1 when half the fragments
// with their neighbours bring fewer.
import { build } from '../../../scripts/prepare.mjs';
import { dataFolder, isThere, readDataset } from './dataset.mjs';
import { mean } from './scores.mjs';
import { makeKnowledge, withPlinth } from './stores.mjs';

const PARAGRAPHS = 5;
const BLOCK_SIZES = [300, 500, 1_000];
const FRAGMENTS = 10;
const OVERLAP = 50;
/** Characters of the neighbours of a hit, as multiples of the block size. */
const BUDGETS = [1, 2];
const ROOM = { pieces: 20, characters: 24_000, tokens: 100_000 };

if (isThere) {
  await build();
  await withPlinth(undefined, main);
} else {
  console.log(
    `Skipped: there are no test sets in ${dataFolder}; RETRIEVAL_DATA names their folder.`,
  );
}

async function main(app) {
  const dataset = readDataset('xquad-es');
  const articles = articlesOf(dataset);
  for (const textBlockSize of BLOCK_SIZES) {
    const base = await load(app, articles, textBlockSize);
    const ranked = new Map();
    for (const { id, text } of dataset.queries) ranked.set(id, await base.search(text, FRAGMENTS));
    const measure = (count, neighbours, budget = 0) =>
      measured(dataset, { ...base, articles, ranked, count, neighbours, budget });
    const half = FRAGMENTS / 2;
    const all = await measure(FRAGMENTS, 'none');
    report(textBlockSize, `${FRAGMENTS} fragments`, all);
    report(textBlockSize, `${half} fragments`, await measure(half, 'none'));
    let best = 0;
    for (const share of BUDGETS) {
      const budget = share * textBlockSize;
      const found = await measure(half, 'adjacent', budget);
      report(textBlockSize, `${half} fragments, neighbours of ${budget} characters`, found);
      best = Math.max(best, found.answers);
    }
    if (best < all.answers) process.exitCode = 1;
  }
}

function articlesOf({ documents }) {
  const articles = [];
  for (let at = 0; at < documents.length; at += PARAGRAPHS) {
    const paragraphs = documents.slice(at, at + PARAGRAPHS);
    let text = '';
    const places = new Map();
    for (const { id, text: paragraph } of paragraphs) {
      if (text !== '') text += '\n\n';
      places.set(id, { start: text.length, end: text.length + paragraph.length });
      text += paragraph;
    }
    articles.push({ text, places });
  }
  return articles;
}

/** Splits and indexes the articles; the fragments are kept here as their rows. */
async function load(app, articles, textBlockSize) {
  const { KeywordIndex } = await import('../../../dist/src/fragment/index.js');
  const { split } = await import('../../../dist/src/fragment/splitter/index.js');
  const index = app.get(KeywordIndex);
  const { scope, addDocument } = await makeKnowledge(app);
  const rows = new Map();
  let next = 1;
  for (const [article, { text }] of articles.entries()) {
    const attachmentId = await addDocument();
    const settings = { textBlockSize, overlapChar: OVERLAP, separator: '' };
    const drafts = split({ kind: 'text', text }, settings);
    const analysed = await index.analyse(drafts.map(({ content }) => content));
    const fragments = drafts.map((draft, idx) => {
      const fragmentId = next++;
      const { content, start: charStart, end: charEnd } = draft;
      const place = { charStart, charEnd, edited: false, headings: null, page: null };
      const row = { fid: `f${fragmentId}`, attachmentId, idx, content, ...place };
      const names = { docId: 'd', knowledgeId: 1, location: null, sourceName: 'article.txt' };
      rows.set(fragmentId, { ...row, ...names, score: 1, article });
      return { fragmentId, analysed: analysed[idx] };
    });
    await index.replaceAttachment({ ...scope, attachmentId }, fragments);
  }
  const search = async (text, limit) => {
    const hits = await index.search(scope, text, limit);
    return hits.map(({ fragmentId }) => rows.get(fragmentId));
  };
  return { rows: [...rows.values()], search, textBlockSize };
}

async function measured(dataset, at) {
  const { Neighbourhood } = await import('../../../dist/src/retrieval/index.js');
  const { quoteFragments, TurnSources } = await import('../../../dist/src/agent/index.js');
  const { estimatingCounter: counter } = await import('../../../dist/src/model/index.js');
  const { rows, articles, ranked, count, neighbours, budget, textBlockSize } = at;
  const byDocument = Map.groupBy(rows, ({ attachmentId }) => attachmentId);
  const shares = [];
  const sizes = [];
  for (const { id } of dataset.queries) {
    const hits = ranked.get(id).slice(0, count);
    const knowledge = { neighbours, neighbourCharacters: budget, textBlockSize };
    const documents = [...new Set(hits.map(({ attachmentId }) => attachmentId))];
    const around =
      neighbours === 'none'
        ? undefined
        : new Neighbourhood(
            [{ knowledge, fragments: hits }],
            documents.flatMap((document) => byDocument.get(document)),
          );
    const options = { counter, neighbours: around };
    const { texts, sources } = quoteFragments(hits, new TurnSources(), ROOM, options);
    const spans = sources.map((source, place) => spanOf(source, hits[place], byDocument));
    const [paragraph] = [...dataset.relevant.get(id).keys()];
    shares.push(shareOf(paragraph, articles, spans));
    sizes.push(texts.join('\n\n').length);
  }
  return { answers: mean(shares), whole: whole(shares), characters: mean(sizes) };
}

/** What of its article a source shows. */
function spanOf(source, hit, byDocument) {
  const document = byDocument.get(hit.attachmentId);
  const first = document[source.firstIndex ?? hit.idx];
  const last = document[source.lastIndex ?? hit.idx];
  return { article: hit.article, start: first.charStart, end: last.charEnd };
}

function shareOf(paragraph, articles, spans) {
  const article = articles.findIndex(({ places }) => places.has(paragraph));
  const { start, end } = articles[article].places.get(paragraph);
  const shown = new Set();
  for (const span of spans.filter((one) => one.article === article)) {
    for (let at = Math.max(start, span.start); at < Math.min(end, span.end); at += 1) shown.add(at);
  }
  return shown.size / (end - start);
}

function whole(shares) {
  return shares.filter((share) => share > 0.99).length / shares.length;
}

function report(textBlockSize, name, { answers, whole: complete, characters }) {
  const percent = (part) => `${(100 * part).toFixed(1)} %`.padStart(7);
  console.log(
    `blocks of ${String(textBlockSize).padStart(4)}: ${name.padEnd(46)} answers ${percent(answers)}, ` +
      `whole paragraphs ${percent(complete)}, ${Math.round(characters)} characters`,
  );
}
