import { Injectable } from '@nestjs/common';
import type { ExpectedBody } from './test-set.dto.js';
import { keyOf } from './judgement.js';
import type { Expected } from './test-set.entity.js';
import { AmbiguousExpectationError, UnknownExpectationError } from './beir.js';
import { TestSetRepository } from './test-set.repository.js';
import type { DocumentName, Scope } from './test-set.repository.js';
import type { ExpectedNames } from './test-set.view.js';

/** The possible meanings of a name. */
type Target = { readonly docId: string } | { readonly fid: string };
type Named = readonly [name: string, target: Target];

/** Resolves the expectations of queries to documents and fragments of a knowledge base. */
@Injectable()
export class Expectations {
  constructor(private readonly testSets: TestSetRepository) {}

  /** Each document and fragment once, with its highest relevance; UnknownExpectationError for unknown ones. */
  async read(scope: Scope, bodies: readonly ExpectedBody[]): Promise<Expected[]> {
    const expected = distinct(bodies.map(readOne));
    const names = await this.namesOf(scope, expected);
    const unknown = expected.filter((one) => !names.has(keyOf(one)));
    if (unknown.length > 0) throw new UnknownExpectationError(unknown.map(nameOf));
    return expected;
  }

  /** The document names of existing expectations. */
  async namesOf(scope: Scope, expected: readonly Expected[]): Promise<ExpectedNames> {
    const docIds = expected.flatMap((one) => ('docId' in one ? [one.docId] : []));
    const fids = expected.flatMap((one) => ('fid' in one ? [one.fid] : []));
    const documents = docIds.length === 0 ? [] : await this.testSets.documents(scope, docIds);
    const fragments = fids.length === 0 ? [] : await this.testSets.fragments(scope, fids);
    return new Map([...documents, ...fragments].map((one) => [keyOf(one), one.name]));
  }

  /**
   * Resolves names: a docId, a fid, a document's name, or a name without suffix that only one document has. Unknown
   * names are missing in the result.
   */
  async resolve(scope: Scope, names: readonly string[]): Promise<ReadonlyMap<string, Target>> {
    const documents = await this.testSets.documents(scope, names);
    const fragments = await this.testSets.fragments(scope, names);
    // Later entries replace earlier ones of the same name.
    return new Map<string, Target>([
      ...uniqueStems(documents),
      ...documents.map(({ docId, name }): Named => [name, { docId }]),
      ...fragments.map(({ fid }): Named => [fid, { fid }]),
      ...documents.map(({ docId }): Named => [docId, { docId }]),
    ]);
  }
}

/** Without duplicates, with the highest relevance. */
export function distinct(expected: readonly Expected[]): Expected[] {
  const best = new Map<string, Expected>();
  for (const one of expected) {
    const known = best.get(keyOf(one));
    if (!known || known.relevance < one.relevance) best.set(keyOf(one), one);
  }
  return [...best.values()];
}

function readOne({ docId, fid, relevance = 1 }: ExpectedBody): Expected {
  if (docId && !fid) return { docId, relevance };
  if (fid && !docId) return { fid, relevance };
  throw new AmbiguousExpectationError();
}

function nameOf(one: Expected): string {
  return 'docId' in one ? one.docId : one.fid;
}

function uniqueStems(documents: readonly DocumentName[]): Named[] {
  const byStem = Map.groupBy(documents, ({ name }) => name.replace(/\.[^.]*$/, ''));
  return [...byStem].flatMap(([stem, [first, ...others]]): Named[] =>
    first && others.length === 0 ? [[stem, { docId: first.docId }]] : [],
  );
}
