import type { Answer, Session } from './session.js';
import { eventually } from './wait.js';

export interface AttachmentRow {
  readonly id: number;
  readonly docId: string;
  readonly name: string;
  readonly status: number;
  readonly remark: string | null;
  readonly fragmentCount: number;
  readonly waitingFor: string | null;
  readonly progressDone: number;
  readonly progressTotal: number | null;
  readonly ocrDone: number;
  readonly ocrTotal: number | null;
  readonly contextDone: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface FragmentRow {
  readonly id: number;
  readonly fid: string;
  readonly idx: number;
  readonly content: string;
  readonly context: string | null;
}

export const PARSED = 2;
export const FAILED = 3;

/** How long a document may take when the machine is busy. */
const PARSING_MS = 90_000;

/** Creates a knowledge base and answers its id, which the route itself does not tell. */
export async function createKnowledge(
  session: Session,
  fields: { readonly name: string; readonly [field: string]: unknown },
): Promise<number> {
  const answer = await session.post('/system/info', {
    textBlockSize: 500,
    overlapChar: 0,
    similarityThreshold: 0,
    enableHybrid: 0,
    ...fields,
  });
  if (answer.code !== 200) throw new Error(answer.msg);
  const { rows } = await session.get<{ id: number; name: string }[]>(
    `/system/info/list?pageSize=1000&name=${encodeURIComponent(fields.name)}`,
  );
  const created = rows.filter(({ name }) => name === fields.name).at(-1);
  if (!created) throw new Error(`Knowledge base ${fields.name} is not in the list.`);
  return created.id;
}

/** Uploads files to a knowledge base as a browser does; answers the envelope. */
export async function upload(
  session: Session,
  knowledgeId: number,
  files: readonly (readonly [name: string, content: string | Buffer])[],
  autoParse = true,
): Promise<Answer<{ name: string; id: number | null; status: number | null; error?: string }[]>> {
  const form = new FormData();
  form.append('knowledgeId', String(knowledgeId));
  form.append('autoParse', String(autoParse));
  for (const [name, content] of files) {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
    form.append('file', new Blob([Uint8Array.from(bytes)]), name);
  }
  return session.upload('/system/attach/upload', form);
}

export async function attachmentsOf(
  session: Session,
  knowledgeId: number,
): Promise<AttachmentRow[]> {
  const answer = await session.get<AttachmentRow[]>(
    `/system/attach/list?knowledgeId=${knowledgeId}&pageSize=1000`,
  );
  return answer.rows;
}

/** The documents of the base once none of them waits or is being parsed any more. */
export async function settled(session: Session, knowledgeId: number): Promise<AttachmentRow[]> {
  return eventually(
    () => attachmentsOf(session, knowledgeId),
    (rows) => rows.every(({ status }) => status === PARSED || status === FAILED),
    PARSING_MS,
  );
}

export async function fragmentsOf(session: Session, docId: string): Promise<FragmentRow[]> {
  const answer = await session.get<FragmentRow[]>(
    `/system/fragment/list?docId=${docId}&pageSize=1000`,
  );
  return answer.rows;
}
