import { queryOptions } from '@tanstack/react-query';
import type { ServerToolView } from '@plinth/client';
import { plinth } from '../app/plinth';

/** Queries that a change of a server or of its tools makes stale. */
export const SERVER_CHANGES = [['toolServers'], ['serverTools'], ['agents', 'choices']];

/** All tools of a server. */
export const toolsQuery = (id: number) =>
  queryOptions({
    queryKey: ['serverTools', id],
    queryFn: ({ signal }) => plinth.toolServerTools({ path: { id }, signal }),
  });

export type ToolState = ServerToolView['state'];
export type Consent = ServerToolView['consent'];
export const CONSENTS: readonly Consent[] = ['always', 'ask', 'never'];

/** Whether someone has to accept the text of the tool before agents get it. */
export function isWaiting({ state }: ServerToolView): boolean {
  return state === 'new' || state === 'changed';
}

interface ToolQuery {
  readonly pageNum: number;
  readonly pageSize: number;
  readonly orderByColumn?: string;
  readonly isAsc?: 'asc' | 'desc';
  readonly text?: string | undefined;
  readonly state?: string | undefined;
}

/** The page of the tools that a table shows. The service lists the tools of a server at once. */
export function pageOfTools(tools: readonly ServerToolView[], query: ToolQuery) {
  const { pageNum, pageSize, isAsc, state } = query;
  const text = query.text?.toLowerCase() ?? '';
  const matches = tools.filter(
    (tool) =>
      (!state || (state === 'waiting' ? isWaiting(tool) : tool.state === state)) &&
      `${tool.name}\n${textOf(tool)?.description}`.toLowerCase().includes(text),
  );
  if (isAsc === 'desc') matches.reverse();
  const begin = (pageNum - 1) * pageSize;
  return { rows: matches.slice(begin, begin + pageSize), total: matches.length };
}

type ToolText = NonNullable<ServerToolView['listed']>;

/** The newest text of a tool. */
export function textOf({ listed, accepted }: ServerToolView): ToolText | undefined {
  return listed ?? accepted ?? undefined;
}

export const PARTS = ['title', 'description', 'inputSchema', 'outputSchema', 'hints'] as const;
export type Part = (typeof PARTS)[number];
export const HINTS = ['readOnly', 'destructive', 'idempotent', 'openWorld'] as const;
export type Hint = (typeof HINTS)[number];

/** What models and consents take from a tool's text, part by part; '' for one that is absent. */
export function partsOf(
  text: ToolText,
  hintText: (hint: Hint) => string,
): Readonly<Record<Part, string>> {
  return {
    title: visible(text.title ?? ''),
    description: visible(text.description),
    inputSchema: visible(JSON.stringify(text.inputSchema, null, 2)),
    outputSchema: text.outputSchema ? visible(JSON.stringify(text.outputSchema, null, 2)) : '',
    hints: HINTS.filter((hint) => text[hint])
      .map(hintText)
      .join('\n'),
  };
}

/** Characters that a model reads and a person does not see. */
const INVISIBLE = /[\p{Cf}\p{Co}\p{Cn}\u115F\u1160\u3164\uFFA0]|(?![\n\t])\p{Cc}/gu;

/** Shows invisible characters by their numbers, so that nothing is accepted unseen. */
function visible(text: string): string {
  return text.replaceAll(
    INVISIBLE,
    (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}
