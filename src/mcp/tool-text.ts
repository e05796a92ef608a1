import type { Tool } from '@modelcontextprotocol/client';
import { canonicalJson, hashOf } from '../effect/index.js';
import type { Consent } from '../effect/index.js';
import type { ServerTool, ToolAnnotations, ToolText } from './tool-server.entity.js';

/** Bytes of one definition as JSON; a model could not use a longer one. */
const MAX_DEFINITION_BYTES = 64 * 1024;
const MAX_NAME_CHARS = 200;
/** Tools of one server. */
const MAX_TOOLS = 1_000;

/** A tool as a server lists it. */
export interface ListedTool {
  readonly name: string;
  readonly text: ToolText;
  readonly hash: string;
}

/** The tools that can be stored, and the number of those that cannot. */
export function readTools(tools: readonly Tool[]): { listed: ListedTool[]; skipped: number } {
  const byName = new Map<string, ListedTool>();
  for (const tool of tools) {
    const one = readTool(tool);
    if (one && byName.size < MAX_TOOLS && !byName.has(one.name)) byName.set(one.name, one);
  }
  return { listed: [...byName.values()], skipped: tools.length - byName.size };
}

function readTool(tool: Tool): ListedTool | undefined {
  const { annotations = {}, inputSchema, outputSchema } = tool;
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const title = tool.title ?? annotations.title;
  const definition = {
    name: tool.name,
    ...(title !== undefined && { title }),
    description: tool.description ?? '',
    inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    annotations: { readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
  };
  const json = canonicalJson(definition);
  const isStorable =
    tool.name !== '' &&
    tool.name.length <= MAX_NAME_CHARS &&
    Buffer.byteLength(json) <= MAX_DEFINITION_BYTES &&
    // PostgreSQL stores no NUL character and no lone surrogate in JSON.
    !json.includes('\\u0000') &&
    json.isWellFormed() &&
    !/\\ud[89a-f]/.test(json);
  if (!isStorable) return undefined;
  const { name, ...text } = JSON.parse(json) as ToolText & { readonly name: string };
  return { name, text, hash: hashOf(json) };
}

/** new: never accepted. changed: listed with another text than the accepted one. missing: no longer listed. */
export const TOOL_STATES = ['accepted', 'new', 'changed', 'missing'] as const;
export type ToolState = (typeof TOOL_STATES)[number];

export function stateOf({
  acceptedHash,
  listedHash,
}: Pick<ServerTool, 'acceptedHash' | 'listedHash'>): ToolState {
  if (listedHash === null) return 'missing';
  if (acceptedHash === null) return 'new';
  return acceptedHash === listedHash ? 'accepted' : 'changed';
}

/** Whether the server says that the tool only reads, and nothing against it. */
export function onlyReads({ readOnlyHint, destructiveHint }: ToolAnnotations): boolean {
  return readOnlyHint === true && destructiveHint !== true;
}

/** A tool that says it only reads is called without asking; any other one asks. */
export function defaultConsent({ annotations }: ToolText): Consent {
  return onlyReads(annotations) ? 'always' : 'ask';
}
