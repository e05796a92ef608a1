import type { Session } from '../session.js';
import { references } from './references.js';
import type { Reference } from './references.js';
import type { Member, World } from './world.js';

/** What leaves the service for one request. */
export interface Seen {
  readonly status: number;
  readonly type: unknown;
  readonly text: string;
}

/** A parameter of a route that names a record. */
export interface ListedReference {
  readonly key: string;
  readonly field: string;
  readonly reference: Reference;
}

export const listedReferences: readonly ListedReference[] = Object.entries(references).flatMap(
  ([key, fields]) =>
    Object.entries(fields).map(([field, reference]) => ({ key, field, reference })),
);

/** Makes what else the request needs, and answers how to send it. */
export async function prepare(
  { key, field, reference }: ListedReference,
  id: string,
  by: Member,
  world: World,
): Promise<(session: Session) => Promise<Seen>> {
  const [method = '', pattern = ''] = key.split(' ');
  const others = (await reference.path?.(by, world, id)) ?? {};
  const path = Object.entries({ [field]: id, ...others }).reduce(
    (made, [name, value]) => made.replace(`:${name}`, value),
    pattern,
  );
  const query = await reference.query?.(id, by, world);
  const body = await reference.body?.(id, by, world);
  return async (session) => {
    const { status, text, headers } = await session.raw(
      method,
      query === undefined ? path : `${path}?${query}`,
      body,
    );
    return { status, text, type: headers['content-type'] };
  };
}

/** The answer, and a refusal without the id, which it may repeat, and without that of the request. */
export function neutral(seen: Seen, id: string): Seen {
  if (isWorkbook(seen)) return seen;
  // A signed address names the second in which it ends.
  const signed = seen.text.replace(/(?<=\/shared\/[\w-]+\.\d+\.)\d+\.[\w-]+/g, '#');
  if (signed.startsWith('{"code":200,')) return { ...seen, text: signed };
  const text = signed
    // The version is no id.
    .replace('scim:api:messages:2.0:Error', 'scim:api:messages:Error')
    .replace(new RegExp(`(?<![\\w-])${id}(?![\\w-])`, 'g'), '#')
    .replace(/report request [\w-]{36}/, 'report request #')
    .replace(/"request_id":"[\w-]{36}"/, '"request_id":"#"');
  return { ...seen, text };
}

export function isWorkbook({ type }: Pick<Seen, 'type'>): boolean {
  return String(type).endsWith('spreadsheetml.sheet');
}
