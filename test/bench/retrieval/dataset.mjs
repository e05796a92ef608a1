import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../scripts/prepare.mjs';

export const dataFolder = process.env.RETRIEVAL_DATA ?? join(root, '..', 'shared', 'data', 'ir');

export const isThere = existsSync(dataFolder);

/** Whether the folder has the test set. */
export const isSet = (name) => existsSync(join(dataFolder, name, 'corpus.jsonl'));

/** A test set in BEIR layout: documents without text are left out, title and text are one text. */
export function readDataset(name) {
  const lines = (file) =>
    readFileSync(join(dataFolder, name, file), 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  const documents = lines('corpus.jsonl')
    .map((line) => JSON.parse(line))
    .map(({ _id: id, title, text }) => ({ id, text: [title, text].filter(Boolean).join('\n') }))
    .filter(({ text }) => text.trim() !== '');
  const queries = lines('queries.jsonl')
    .map((line) => JSON.parse(line))
    .map(({ _id: id, text }) => ({ id, text }));
  /** Grades of the relevant documents, by query. */
  const relevant = new Map(queries.map(({ id }) => [id, new Map()]));
  for (const line of lines(join('qrels', 'test.tsv')).slice(1)) {
    const [query, document, grade] = line.split('\t');
    relevant.get(query)?.set(document, Number(grade));
  }
  return { name, documents, queries, relevant };
}
