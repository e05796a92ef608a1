import { ToolError } from '../fault/tool.error.js';
import type { Workspace } from '../workspace/workspace.js';
import type { FileOperation, FileState } from '../workspace/file-operation.js';

/** Every folder above the path, from the innermost on. */
export function foldersOf(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, names.length - 1 - index).join('/'));
}

/**
 * What stands in the place of other files until operations have removed it: a file where a folder is to be, or folders,
 * which go with their last file, where a file is to be.
 */
export class FreedPlaces {
  private readonly files = new Set<string>();
  private readonly folders = new Set<string>();

  constructor(operations: readonly FileOperation[] = []) {
    for (const operation of operations) this.add(operation);
  }

  add({ path, madeFolders = 0 }: FileOperation): void {
    this.files.add(path);
    for (const folder of foldersOf(path).slice(0, madeFolders)) this.folders.add(folder);
  }

  /** What is at the path; null where only what the operations remove is in its place. Else as `Workspace.state`. */
  async state(workspace: Workspace, path: string, signal: AbortSignal): Promise<FileState | null> {
    try {
      return await workspace.state(path, signal);
    } catch (error) {
      if (this.isCause(error, path)) return null;
      throw error;
    }
  }

  private isCause(error: unknown, path: string): boolean {
    if (!(error instanceof ToolError)) return false;
    if (error.code === 'NOT_A_FILE') return this.folders.has(path);
    return error.code === 'NOT_A_FOLDER' && foldersOf(path).some((one) => this.files.has(one));
  }
}
