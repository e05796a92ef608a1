import { createKnowledge, upload } from '../knowledge.js';
import { done } from '../people.js';
import { fresh } from './records.js';
import type { RecordKind } from './records.js';
import type { Member } from './world.js';

/** Knowledge bases that are not shared, and what they hold: their owner's, and a super administrator's. */
const OWNED = { owner: 'user', supervised: true } as const;
const NO_ID = '987654321';

export const knowledgeBase: RecordKind = {
  ...OWNED,
  missing: NO_ID,
  make: async ({ session }) => String(await createKnowledge(session, { name: fresh('Base ') })),
};

interface DocumentRow {
  readonly id: number;
  readonly knowledgeId: number;
  readonly docId: string;
  readonly ossId: string;
}

/** A document that nobody parses, in a base of its own. */
async function makeDocument({ session }: Member): Promise<DocumentRow> {
  const base = await createKnowledge(session, { name: fresh('Base ') });
  const file = [`${fresh('note')}.txt`, fresh('What the document says ')] as const;
  const { data } = done(await upload(session, base, [file], false));
  return done(await session.get<DocumentRow>(`/system/attach/${data[0]?.id}`)).data;
}

export const attachment: RecordKind = {
  ...OWNED,
  missing: NO_ID,
  make: async (by) => String((await makeDocument(by)).id),
};

/** Named by its docId. */
export const documentName: RecordKind = {
  ...OWNED,
  missing: 'nosuchdoc1',
  make: async (by) => (await makeDocument(by)).docId,
};

/** The source file of a document. */
export const sourceFile: RecordKind = {
  ...OWNED,
  missing: NO_ID,
  make: async (by) => (await makeDocument(by)).ossId,
};

export const fragment: RecordKind = {
  ...OWNED,
  missing: NO_ID,
  make: async (by) => {
    const { docId } = await makeDocument(by);
    const body = { docId, content: fresh('What the fragment says ') };
    return String(done(await by.session.post<{ id: number }>('/system/fragment', body)).data.id);
  },
};

/** A question of the test set of a base. */
export const testQuery: RecordKind = {
  ...OWNED,
  missing: NO_ID,
  make: async (by) => {
    const { knowledgeId, docId } = await makeDocument(by);
    const body = { query: fresh('What is asked '), expected: [{ docId }] };
    const path = `/system/info/${knowledgeId}/testset`;
    return String(done(await by.session.post<{ id: number }>(path, body)).data.id);
  },
};
