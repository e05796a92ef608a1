import { ConflictError, InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

/** A question of a BEIR file, by its `_id`. */
interface BeirQuery {
  readonly id: string;
  readonly text: string;
}

/** A line of a BEIR qrels file. */
export interface BeirJudgement {
  readonly queryId: string;
  readonly corpusId: string;
  readonly score: number;
}

/** Reads `queries.jsonl`: one object per line with `_id` and `text`; other fields are ignored. */
export function readQueries(jsonl: string): BeirQuery[] {
  return linesOf(jsonl).map(({ text, number }) => {
    const object = readObject(text, number);
    const id = readText(object._id, MAX_ID_CHARS);
    const question = readText(object.text, MAX_QUERY_CHARS);
    if (id === undefined || question === undefined)
      throw new MalformedImportError('queries', number, FORM);
    return { id, text: question };
  });
}

/** Longest id of a query. */
export const MAX_ID_CHARS = 200;
/** Longest query text that retrieval uses. */
export const MAX_QUERY_CHARS = 4_000;
/** An id contains no separator of cells or lines of a qrels file. */
export const ID_FORM = /^[^\t\r\n]*$/;
const BEST = 3;

const FORM = msg`needs an _id of at most ${MAX_ID_CHARS} characters and a text of at most ${MAX_QUERY_CHARS}`;

/** Text without NUL and surrounding white space. */
function readText(value: unknown, longest: number): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).toWellFormed().trim();
  const isGood = text !== '' && text.length <= longest && !text.includes('\0');
  return isGood && (longest > MAX_ID_CHARS || ID_FORM.test(text)) ? text : undefined;
}

/** Reads a qrels file: query-id, corpus-id and a score up to 3, separated by tabs; a header line is skipped. */
export function readJudgements(tsv: string): BeirJudgement[] {
  return linesOf(tsv).flatMap(({ text, number }, index) => {
    const [queryId, corpusId, score, ...more] = text.split('\t').map((cell) => cell.trim());
    if (index === 0 && score === 'score') return [];
    if (!queryId || !corpusId || more.length > 0 || !/^-?\d{1,9}$/.test(score ?? '')) {
      const form = msg`is not query-id, corpus-id and a whole score, with tabs between them`;
      throw new MalformedImportError('qrels', number, form);
    }
    if (Number(score) > BEST)
      throw new MalformedImportError('qrels', number, msg`has a score above 3`);
    return [{ queryId, corpusId, score: Number(score) }];
  });
}

export function writeQueries(queries: readonly BeirQuery[]): string {
  return queries.map(({ id, text }) => `${JSON.stringify({ _id: id, text })}\n`).join('');
}

export function writeJudgements(judgements: readonly BeirJudgement[]): string {
  const lines = judgements.map(({ queryId, corpusId, score }) =>
    [queryId, corpusId, score].join('\t'),
  );
  return ['query-id\tcorpus-id\tscore', ...lines].map((line) => `${line}\n`).join('');
}

interface Line {
  readonly text: string;
  /** Line number, from 1. */
  readonly number: number;
}

/** The lines that are not blank. */
function linesOf(file: string): Line[] {
  return file
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((text, index) => ({ text, number: index + 1 }))
    .filter(({ text }) => text.trim() !== '');
}

function readObject(text: string, number: number): { _id?: unknown; text?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Reported below.
  }
  throw new MalformedImportError('queries', number, msg`is not a JSON object`);
}

class MalformedImportError extends InvalidInputError {
  constructor(part: 'queries' | 'qrels', line: number, problem: Message) {
    super(msg`${part}: line ${line} ${problem}. Correct it and import again; nothing was stored.`);
  }
}

export class IncompleteImportError extends InvalidInputError {
  constructor() {
    super(
      msg`An import needs queries (the lines of a queries.jsonl) and qrels (the lines of a qrels .tsv). Send both, as fields of a JSON body or as files named *.jsonl and *.tsv.`,
    );
  }
}

export class ImportTooLargeError extends InvalidInputError {
  constructor(name: string, megabytes: number) {
    super(msg`${name} is larger than ${megabytes} MiB. Import a part of it.`);
  }
}

/** An expectation of a query is not in the knowledge base. */
export class UnknownExpectationError extends InvalidInputError {
  constructor(names: readonly string[]) {
    super(
      msg`This knowledge base has no document or fragment ${names.join(', ')}. Use the docId from the list of its documents, or the fid from the list of their fragments.`,
      { data: { unknown: names } },
    );
  }
}

export class AmbiguousExpectationError extends InvalidInputError {
  constructor() {
    super(msg`Each entry of expected names either a document (docId) or a fragment (fid).`);
  }
}

export class DuplicateQueryIdError extends ConflictError {
  constructor(queryId: string) {
    super(msg`The test set already has a query ${queryId}. Choose another queryId, or omit it.`);
  }
}

export class TestSetFullError extends InvalidInputError {
  constructor(limit: number) {
    super(msg`A test set has at most ${limit} queries. Delete some, or import fewer.`);
  }
}

export class EmptyTestSetError extends InvalidInputError {
  constructor() {
    super(msg`The test set of this knowledge base is empty. Add or import queries first.`);
  }
}

export class TestQueryTooLongError extends InvalidInputError {
  constructor() {
    super(
      msg`The question is longer than ${MAX_QUERY_CHARS} characters. Add a shorter query by hand.`,
    );
  }
}

export class NothingCitedError extends InvalidInputError {
  constructor() {
    super(
      msg`The answer cites nothing that this knowledge base still has. Choose the base of its sources, or add the query by hand.`,
    );
  }
}
