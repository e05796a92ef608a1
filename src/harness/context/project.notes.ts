import { ToolError } from '../fault/tool.error.js';
import type { Workspace } from '../workspace/workspace.js';

/** The one file of a workspace that is given to the model unasked. */
const NOTES_FILE = 'AGENTS.md';
const NOTES_BYTES = 32 * 1024;

export type ProjectNotes =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unusable'; readonly why: string }
  | undefined;

/** What the project says to agents, as it is now; undefined when it says nothing. */
export async function projectNotes(
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ProjectNotes> {
  try {
    const { bytes, realPath } = await workspace.read(NOTES_FILE, {
      limitBytes: NOTES_BYTES,
      signal,
    });
    if (workspace.classify(realPath).secret) return { kind: 'unusable', why: 'leads to a secret' };
    const text = decoded(bytes);
    if (text === undefined) return { kind: 'unusable', why: 'is no UTF-8 text' };
    return text.trim() === '' ? undefined : { kind: 'text', text };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    if (error.code === 'NOT_FOUND') return undefined;
    const tooLarge = error.code === 'TOO_LARGE';
    return {
      kind: 'unusable',
      why: tooLarge
        ? `is larger than ${NOTES_BYTES} bytes; read_file shows it in parts`
        : 'cannot be read',
    };
  }
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
