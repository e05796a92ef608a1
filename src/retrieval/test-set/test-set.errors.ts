import { ConflictError, InvalidInputError } from '../../platform/error/index.js';

export class MalformedImportError extends InvalidInputError {
  constructor(part: 'queries' | 'qrels', line: number, problem: string) {
    super(`${part}: line ${line} ${problem}. Correct it and import again; nothing was stored.`);
  }
}

export class IncompleteImportError extends InvalidInputError {
  constructor() {
    super(
      'An import needs queries (the lines of a queries.jsonl) and qrels (the lines of a qrels .tsv). Send both, as fields of a JSON body or as files named *.jsonl and *.tsv.',
    );
  }
}

export class ImportTooLargeError extends InvalidInputError {
  constructor(name: string, megabytes: number) {
    super(`${name} is larger than ${megabytes} MiB. Import a part of it.`);
  }
}

/** An expectation of a query is not in the knowledge base. */
export class UnknownExpectationError extends InvalidInputError {
  constructor(names: readonly string[]) {
    super(
      `This knowledge base has no document or fragment ${names.join(', ')}. Use the docId from the list of its documents, or the fid from the list of their fragments.`,
      { data: { unknown: names } },
    );
  }
}

export class AmbiguousExpectationError extends InvalidInputError {
  constructor() {
    super('Each entry of expected names either a document (docId) or a fragment (fid).');
  }
}

export class DuplicateQueryIdError extends ConflictError {
  constructor(queryId: string) {
    super(`The test set already has a query ${queryId}. Choose another queryId, or omit it.`);
  }
}

export class TestSetFullError extends InvalidInputError {
  constructor(limit: number) {
    super(
      `A test set has at most ${limit} queries (EVALUATION_QUERIES). Delete some, or import fewer.`,
    );
  }
}

export class EmptyTestSetError extends InvalidInputError {
  constructor() {
    super('The test set of this knowledge base is empty. Add or import queries first.');
  }
}
