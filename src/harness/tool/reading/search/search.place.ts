import type { Workspace } from '../../../workspace/workspace.js';
import { ToolError } from '../../../fault/tool.error.js';
import type { SearchPatternError } from './search.query.js';

/**
 * The path to search in, without links: the file or folder that was named, or the whole workspace. Secret files and
 * those of git are never searched, also not when they are named or linked to.
 */
export async function searchPlace(workspace: Workspace, given = ''): Promise<string> {
  const path = await workspace.realPathOf(workspace.pathOf(given));
  const { protection, secret } = workspace.classify(path);
  if (secret) {
    throw new ToolError(
      'SECRET_PATH',
      `${path} may hold secrets, and searches leave such files out. If you need it, ask for it with read_file.`,
    );
  }
  if (protection === 'GIT') {
    throw new ToolError('PROTECTED_PATH', `${path} belongs to git and is never searched.`);
  }
  if (path !== '') await checkThere(workspace, path);
  return path;
}

async function checkThere(workspace: Workspace, path: string): Promise<void> {
  try {
    await workspace.withFile(path, async () => undefined);
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== 'NOT_A_FILE') throw error;
    // A folder, then; anything else cannot be entered.
    await workspace.entries(path, 0);
  }
}

/** A pattern that the search could not read. */
export function unreadable(what: string, { message }: SearchPatternError): ToolError {
  return new ToolError(
    'INVALID_ARGUMENTS',
    `The ${what} cannot be read: ${message.slice(0, 1_000)}. Correct it${what === 'pattern' ? '' : ', or use literal=true to search for the text itself'}.`,
  );
}
