import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VectorStoreError } from '../../src/vector-store/index.js';
import type {
  VectorEntry,
  VectorHit,
  VectorScope,
  VectorStore,
} from '../../src/vector-store/index.js';
import { cosine, normalised, unitVector } from '../support/vectors/unit-vector.js';

export interface VectorStoreUnderTest {
  readonly store: VectorStore;
  /** The same vectors as another process sees them. */
  readonly other: VectorStore;
  /** The two tenants that there are. */
  readonly tenants: readonly [string, string];
  newBase(tenantId: string): Promise<VectorScope>;
  newAttachment(scope: VectorScope): Promise<number>;
  close(): Promise<void>;
}

const { signal } = new AbortController();
let lastFragment = 0;

function entry(
  attachmentId: number,
  vector: Float32Array,
  fragmentId = ++lastFragment,
): VectorEntry {
  return { fragmentId, attachmentId, vector };
}

function entriesOf(count: number, dimension: number, attachmentId: number): VectorEntry[] {
  return Array.from({ length: count }, () =>
    entry(attachmentId, unitVector(dimension, ++lastFragment), lastFragment),
  );
}

const idsOf = (hits: readonly (VectorHit | VectorEntry)[]): number[] =>
  hits.map(({ fragmentId }) => fragmentId);

/** What every VectorStore guarantees. */
export function describeVectorStore(
  name: string,
  start: () => Promise<VectorStoreUnderTest>,
): void {
  describe(`VectorStore ${name}`, () => {
    let subject: VectorStoreUnderTest;
    let store: VectorStore;

    beforeAll(async () => {
      subject = await start();
      store = subject.store;
    });

    afterAll(async () => {
      await subject.close();
    });

    async function newDocument(): Promise<{ scope: VectorScope; attachmentId: number }> {
      const scope = await subject.newBase(subject.tenants[0]);
      return { scope, attachmentId: await subject.newAttachment(scope) };
    }

    async function find(
      scope: VectorScope,
      vector: Float32Array,
      { limit = 1_000, by = store } = {},
    ): Promise<VectorHit[]> {
      return by.search(scope, { vector, limit }, signal);
    }

    it('finds the nearest first, with its cosine, and equal ones by fragment id', async () => {
      const { scope, attachmentId } = await newDocument();
      const [far, near, same, twin] = [
        entry(attachmentId, normalised([-1, 0, 0])),
        entry(attachmentId, normalised([3, 4, 0])),
        entry(attachmentId, normalised([1, 0, 0])),
        entry(attachmentId, normalised([1, 0, 0])),
      ];
      await store.upsert(scope, [twin, far, near, same], signal);
      const hits = await find(scope, normalised([1, 0, 0]));

      expect(idsOf(hits)).toEqual(idsOf([same, twin, near, far]));
      const scores = hits.map(({ score }) => score);
      for (const [at, score] of [1, 1, 0.6, -1].entries()) expect(scores[at]).toBeCloseTo(score, 6);
      expect(scores.every((score) => score >= -1 && score <= 1)).toBe(true);
    });

    it('answers no more than the limit, and all there is when the limit is larger', async () => {
      const { scope, attachmentId } = await newDocument();
      const entries = entriesOf(7, 8, attachmentId);
      await store.upsert(scope, entries, signal);
      const query = unitVector(8, 1);
      const all = await find(scope, query);

      expect(idsOf(all).sort((a, b) => a - b)).toEqual(idsOf(entries));
      expect(await find(scope, query, { limit: 3 })).toEqual(all.slice(0, 3));
      expect(await find(scope, query, { limit: 0 })).toEqual([]);
    });

    it('finds the given fragments only, however far they are, and none of another base', async () => {
      const { scope, attachmentId } = await newDocument();
      const other = await newDocument();
      const entries = entriesOf(40, 8, attachmentId);
      const [foreign] = entriesOf(1, 8, other.attachmentId);
      if (!foreign) throw new Error('There is no entry.');
      await store.upsert(scope, entries, signal);
      await store.upsert(other.scope, [foreign], signal);
      const vector = unitVector(8, 1);
      const all = idsOf(await find(scope, vector));
      const among = async (fragmentIds: readonly number[], limit = 10): Promise<number[]> =>
        idsOf(await store.search(scope, { vector, limit, fragmentIds }, signal));

      const last = all.slice(-3);
      expect(await among([...last, foreign.fragmentId, 1_000_000_000].reverse())).toEqual(last);
      expect(await among(last, 2)).toEqual(last.slice(0, 2));
      expect(await among([])).toEqual([]);
      expect(await among(all, 1_000)).toEqual(all);
    });

    it('finds fragments of the given documents only, and of those the given fragments', async () => {
      const { scope, attachmentId } = await newDocument();
      const [second, empty] = [
        await subject.newAttachment(scope),
        await subject.newAttachment(scope),
      ];
      const other = await newDocument();
      const [mine, theirs] = [entriesOf(9, 8, attachmentId), entriesOf(9, 8, second)];
      await store.upsert(scope, [...mine, ...theirs], signal);
      await store.upsert(other.scope, entriesOf(1, 8, other.attachmentId), signal);
      const vector = unitVector(8, 1);
      const all = await find(scope, vector);
      const among = async (asked: object, limit = 100): Promise<VectorHit[]> =>
        store.search(scope, { vector, limit, ...asked }, signal);

      const ofSecond = all.filter(({ fragmentId }) => idsOf(theirs).includes(fragmentId));
      expect(await among({ attachmentIds: [second] })).toEqual(ofSecond);
      expect(await among({ attachmentIds: [second, empty] }, 4)).toEqual(ofSecond.slice(0, 4));
      expect(await among({ attachmentIds: [attachmentId, second] })).toEqual(all);
      expect(await among({ attachmentIds: [empty, other.attachmentId] })).toEqual([]);
      expect(await among({ attachmentIds: [] })).toEqual([]);
      const both = [...idsOf(mine.slice(0, 2)), ...idsOf(ofSecond.slice(3, 5))];
      expect(idsOf(await among({ attachmentIds: [second], fragmentIds: both }))).toEqual(
        idsOf(ofSecond.slice(3, 5)),
      );
    });

    it('answers nothing for a base without vectors, or without any of the dimension', async () => {
      const { scope, attachmentId } = await newDocument();
      expect(await find(scope, unitVector(11, 1))).toEqual([]);
      expect(await store.count(scope, undefined, signal)).toBe(0);
      await store.upsert(scope, [], signal);
      await store.upsert(scope, entriesOf(1, 8, attachmentId), signal);
      expect(await find(scope, unitVector(11, 1))).toEqual([]);
    });

    it('replaces the vector of a fragment, also by one of another dimension', async () => {
      const { scope, attachmentId } = await newDocument();
      const neighbour = await subject.newAttachment(scope);
      const first = entry(attachmentId, normalised([1, 0, 0]));
      await store.upsert(scope, [first], signal);
      expect(await find(scope, normalised([1, 0, 0]))).toHaveLength(1);

      const turned = { ...first, attachmentId: neighbour, vector: normalised([0, 1, 0]) };
      await store.upsert(scope, [first, turned], signal);
      const [hit] = await find(scope, normalised([1, 0, 0]));
      expect(hit?.score).toBeCloseTo(0, 6);
      expect(await store.count(scope, attachmentId, signal)).toBe(0);
      expect(await store.count(scope, neighbour, signal)).toBe(1);

      await store.upsert(scope, [{ ...first, vector: normalised([1, 0, 0, 0]) }], signal);
      expect(await find(scope, normalised([1, 0, 0]))).toEqual([]);
      expect(await find(scope, normalised([1, 0, 0, 0]))).toHaveLength(1);
      expect(await store.count(scope, undefined, signal)).toBe(1);
    });

    it('never mixes tenants or bases, whatever it is asked to do', async () => {
      const [mine, theirs] = subject.tenants;
      const scopes = [
        await subject.newBase(mine),
        await subject.newBase(mine),
        await subject.newBase(theirs),
      ];
      const stored = new Map<VectorScope, VectorEntry>();
      for (const scope of scopes) {
        const one = entry(await subject.newAttachment(scope), normalised([1, 2, 3]));
        stored.set(scope, one);
        await store.upsert(scope, [one], signal);
      }
      const [first, second, foreign] = scopes as [VectorScope, VectorScope, VectorScope];
      const other = stored.get(foreign);
      const wrongTenant = { ...foreign, tenantId: mine };
      const strangers = [wrongTenant, first, second];
      for (const stranger of strangers) {
        await store.removeFragments(stranger, idsOf(other ? [other] : []), signal);
        await store.removeAttachment(stranger, other?.attachmentId ?? 0, signal);
      }
      await store.removeKnowledge(wrongTenant, signal);

      for (const [scope, one] of stored) {
        expect(idsOf(await find(scope, normalised([1, 2, 3])))).toEqual([one.fragmentId]);
        expect(await store.count(scope, undefined, signal)).toBe(1);
        expect(await store.fragmentIds(scope, { after: 0, limit: 9 }, signal)).toEqual([
          one.fragmentId,
        ]);
      }
      expect(await find(wrongTenant, normalised([1, 2, 3]))).toEqual([]);
      expect(await store.count(wrongTenant, undefined, signal)).toBe(0);
    });

    it('removes fragments, documents and bases without a trace, in every dimension', async () => {
      const { scope, attachmentId } = await newDocument();
      const second = await subject.newAttachment(scope);
      const kept = await subject.newBase(scope.tenantId);
      const bystander = entriesOf(1, 8, await subject.newAttachment(kept));
      await store.upsert(kept, bystander, signal);
      const [small, large] = [entriesOf(3, 8, attachmentId), entriesOf(3, 12, attachmentId)];
      const rest = entriesOf(2, 8, second);
      await store.upsert(scope, [...small, ...large, ...rest], signal);
      const left = async (): Promise<number[]> => [
        ...idsOf(await find(scope, unitVector(8, 1))),
        ...idsOf(await find(scope, unitVector(12, 1))),
      ];
      expect(await left()).toHaveLength(8);

      await store.removeFragments(
        scope,
        idsOf([...small.slice(0, 1), ...large.slice(0, 1)]),
        signal,
      );
      expect(await left()).toHaveLength(6);
      expect(await store.count(scope, attachmentId, signal)).toBe(4);
      await store.removeAttachment(scope, attachmentId, signal);
      expect((await left()).sort((a, b) => a - b)).toEqual(idsOf(rest));
      expect(await store.count(scope, attachmentId, signal)).toBe(0);
      expect(await store.count(scope, undefined, signal)).toBe(2);
      await store.removeKnowledge(scope, signal);
      expect(await left()).toEqual([]);
      expect(await store.count(scope, undefined, signal)).toBe(0);
      expect(idsOf(await find(kept, unitVector(8, 1)))).toEqual(idsOf(bystander));
    });

    it('removes what is not there without complaint', async () => {
      const { scope, attachmentId } = await newDocument();
      await store.removeFragments(scope, [++lastFragment], signal);
      await store.removeFragments(scope, [], signal);
      await store.removeAttachment(scope, attachmentId, signal);
      await store.removeKnowledge(scope, signal);
      await store.removeTenant('999999', signal);
    });

    it('removes a tenant, and no other', async () => {
      const [mine, theirs] = subject.tenants;
      const scopes = [await subject.newBase(mine), await subject.newBase(theirs)] as const;
      for (const scope of scopes) {
        const entries = entriesOf(2, 8, await subject.newAttachment(scope));
        await store.upsert(scope, entries, signal);
        await find(scope, unitVector(8, 1));
      }
      await store.removeTenant(theirs, signal);

      expect(await find(scopes[1], unitVector(8, 1))).toEqual([]);
      expect(await find(scopes[0], unitVector(8, 1))).toHaveLength(2);
      const tenants = (await store.scopes(signal)).map(({ tenantId }) => tenantId);
      expect(tenants).toContain(mine);
      expect(tenants).not.toContain(theirs);
    });

    it('takes 2,500 dimensions', async () => {
      const { scope, attachmentId } = await newDocument();
      const entries = entriesOf(20, 2_500, attachmentId);
      await store.upsert(scope, entries, signal);
      const [wanted] = entries.slice(12);
      const [hit] = await find(scope, wanted?.vector ?? new Float32Array(), { limit: 1 });

      expect(hit?.fragmentId).toBe(wanted?.fragmentId);
      expect(hit?.score).toBeCloseTo(1, 5);
    });

    it('takes 5,000 vectors at once, finds what comparing all finds, and lists them page by page', async () => {
      const { scope, attachmentId } = await newDocument();
      const entries = entriesOf(5_000, 32, attachmentId);
      await store.upsert(scope, entries, signal);
      const query = unitVector(32, 77);
      const best = entries
        .map(({ fragmentId, vector }) => ({ fragmentId, score: cosine(vector, query) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 50);
      const hits = await find(scope, query, { limit: 50 });

      expect(idsOf(hits)).toEqual(idsOf(best));
      for (const [at, { score }] of best.entries()) expect(hits[at]?.score).toBeCloseTo(score, 5);
      expect(await store.count(scope, undefined, signal)).toBe(5_000);
      const listed: number[] = [];
      for (;;) {
        const page = { after: listed.at(-1) ?? 0, limit: 1_900 };
        const ids = await store.fragmentIds(scope, page, signal);
        if (ids.length === 0) break;
        listed.push(...ids);
      }
      expect(listed).toEqual(idsOf(entries));
      await store.removeAttachment(scope, attachmentId, signal);
      expect(await find(scope, query)).toEqual([]);
    });

    it('lists every scope with its number', async () => {
      const { scope, attachmentId } = await newDocument();
      await store.upsert(
        scope,
        [...entriesOf(3, 8, attachmentId), ...entriesOf(2, 12, attachmentId)],
        signal,
      );
      const empty = await subject.newBase(scope.tenantId);
      const scopes = await store.scopes(signal);

      expect(scopes).toContainEqual({ ...scope, count: 5 });
      expect(scopes.map(({ knowledgeId }) => knowledgeId)).not.toContain(empty.knowledgeId);
    });

    it('shows every process what another one has changed', async () => {
      const { scope, attachmentId } = await newDocument();
      const { other } = subject;
      const query = unitVector(8, 1);
      const seenByAll = async (): Promise<number[]> => {
        const [here, there] = [await find(scope, query), await find(scope, query, { by: other })];
        expect(there).toEqual(here);
        return idsOf(here).sort((a, b) => a - b);
      };
      const entries = entriesOf(4, 8, attachmentId);
      await store.upsert(scope, entries.slice(0, 2), signal);
      expect(await seenByAll()).toEqual(idsOf(entries.slice(0, 2)));
      await other.upsert(scope, entries.slice(1), signal);
      expect(await seenByAll()).toEqual(idsOf(entries));
      await store.removeFragments(scope, idsOf(entries.slice(0, 1)), signal);
      expect(await seenByAll()).toEqual(idsOf(entries.slice(1)));
      const [, changed] = entries;
      if (changed) await other.upsert(scope, [{ ...changed, vector: query }], signal);
      expect((await find(scope, query))[0]?.fragmentId).toBe(changed?.fragmentId);
      await other.removeAttachment(scope, attachmentId, signal);
      expect(await seenByAll()).toEqual([]);
    });

    it('stays whole when adding, removing and searching happen at once', async () => {
      const { scope, attachmentId } = await newDocument();
      const second = await subject.newAttachment(scope);
      const [batches, kept] = [
        Array.from({ length: 6 }, () => entriesOf(40, 8, attachmentId)),
        entriesOf(40, 8, second),
      ];
      const work: Promise<unknown>[] = [store.upsert(scope, kept, signal)];
      for (const batch of batches) {
        work.push(store.upsert(scope, batch, signal));
        // What is added meanwhile may be what is left: that is told, and nothing else goes wrong.
        work.push(
          subject.other.removeAttachment(scope, attachmentId, signal).catch((error: unknown) => {
            expect(error).toBeInstanceOf(VectorStoreError);
          }),
        );
        work.push(find(scope, unitVector(8, 2), { by: subject.other }));
      }
      await Promise.all(work);
      await store.removeAttachment(scope, attachmentId, signal);

      const found = await find(scope, unitVector(8, 1));
      expect(idsOf(found).sort((a, b) => a - b)).toEqual(idsOf(kept));
      expect(await store.count(scope, undefined, signal)).toBe(40);
    });

    it('ends with the reason of the signal when it is aborted, before or meanwhile', async () => {
      const { scope, attachmentId } = await newDocument();
      const entries = entriesOf(2_000, 64, attachmentId);
      const reason = new Error('nobody waits any more');
      const gone = AbortSignal.abort(reason);
      const query = { vector: unitVector(64, 1), limit: 5 };
      await expect(store.upsert(scope, entries, gone)).rejects.toBe(reason);
      await expect(store.search(scope, query, gone)).rejects.toBe(reason);
      await expect(store.removeAttachment(scope, attachmentId, gone)).rejects.toBe(reason);
      await expect(store.scopes(gone)).rejects.toBe(reason);
      expect(await store.count(scope, undefined, signal)).toBe(0);

      const leaving = new AbortController();
      const upsert = expect(store.upsert(scope, entries, leaving.signal)).rejects.toBe(reason);
      leaving.abort(reason);
      await upsert;
      await store.upsert(scope, entries, signal);
      expect(await store.count(scope, undefined, signal)).toBe(2_000);
    });
  });
}
