import { ASK_AGENT, TOOLS } from '../../../src/mcp-server/tools.js';
import type { RouteTool } from '../../../src/mcp-server/tools.js';
import { callTool } from '../mcp-client.js';
import type { Session } from '../session.js';
import { agent } from './records.js';
import { references } from './references.js';
import type { Reference } from './references.js';
import type { Member, World } from './world.js';

/** What leaves the service for one request. */
export interface Seen {
  readonly status: number;
  readonly type: unknown;
  readonly text: string;
}

/** A parameter of a route, or of a tool of POST /mcp, that names a record. */
export interface ListedReference {
  /** The route; for a tool the one that it calls. */
  readonly key: string;
  /** The route, or the tool. */
  readonly name: string;
  readonly field: string;
  readonly reference: Reference;
  readonly tool?: RouteTool;
}

export const listedReferences: readonly ListedReference[] = Object.entries(references).flatMap(
  ([key, fields]) =>
    Object.entries(fields).map(([field, reference]) => ({ key, name: key, field, reference })),
);

/** The question of ask_agent names its agent in a field of its own. */
const ASKED: Reference = { kind: agent, body: (agentId) => ({ agentId, question: 'Hello' }) };

/** The parameters that tools take over from their routes. */
export const toolReferences: readonly ListedReference[] = TOOLS.flatMap((tool) => {
  const { route: key } = tool;
  const name = `the tool ${tool.name}`;
  if (tool.name === ASK_AGENT) return [{ key, name, field: 'messages', reference: ASKED, tool }];
  return Object.entries(references[key] ?? {})
    .filter(([field]) => tool.fields.includes(field) || key.includes(`:${field}`))
    .map(([field, reference]) => ({ key, name, field, reference, tool }));
});

/** Makes what else the request needs, and answers how to send it. */
export async function prepare(
  { key, field, reference, tool }: ListedReference,
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
  if (tool) {
    const inPath = key.includes(`:${field}`) ? { [field]: id, ...others } : {};
    const inQuery = Object.fromEntries(new URLSearchParams(query));
    return async (session) => {
      const { status, text } = await callTool(session, tool.name, {
        ...inPath,
        ...inQuery,
        ...body,
      });
      // The version is no id.
      return { status, text: text.replace('2.0', 'two'), type: 'application/json' };
    };
  }
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
