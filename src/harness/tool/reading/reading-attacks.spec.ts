import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  checkOutside,
  OUTSIDE_TEXT,
  pathAttacks,
  SECRET_TEXT,
} from '../../../../test/support/path-attacks.js';
import { noSecrets, ToolWorkspace } from '../../../../test/support/tool-workspace.js';
import { GlobFilesTool, SearchTextTool } from './search.tools.js';
import { ListFilesTool, ReadFileTool } from './read.tools.js';
import { FileSearch } from './file-search.js';

const list = new ListFilesTool();
const read = new ReadFileTool(noSecrets);

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

describe.each(pathAttacks)('$name', (attack) => {
  const search = new SearchTextTool(new FileSearch(), noSecrets);
  const glob = new GlobFilesTool(new FileSearch());
  const isForbidden = (content: string): boolean =>
    content.includes(OUTSIDE_TEXT) || content.includes(SECRET_TEXT);

  it('gets nothing out of read_file', async () => {
    attack.prepare(here.root, here.outside);
    const path = attack.path(here.root, here.outside);
    const answer = await here.codeOf(read, { path });
    if (attack.read.length > 0) expect(attack.read).toContain(answer);
    else expect(answer).toContain('End of the file');
  });

  it('gets nothing out of list_files, glob_files and search_text', async () => {
    attack.prepare(here.root, here.outside);
    const path = attack.path(here.root, here.outside);
    const answers = [
      await here.codeOf(list, { path, depth: 3 }),
      await here.codeOf(glob, { pattern: '**/*', path }),
      await here.codeOf(search, { pattern: 'T', path, context: 5 }),
      await here.codeOf(search, { pattern: 'T', context: 5 }),
      await here.codeOf(glob, { pattern: '**/*' }),
    ];
    for (const answer of answers) {
      // The hard link is a file of the workspace.
      if (attack.name !== 'a hard link to a file') expect(isForbidden(answer)).toBe(false);
    }
    for (const answer of answers.slice(0, 3)) {
      if (attack.read.includes('OUTSIDE_WORKSPACE')) expect(answer).toBe('OUTSIDE_WORKSPACE');
      if (attack.read.includes('SYMLINK_ESCAPE')) expect(answer).toBe('SYMLINK_ESCAPE');
      if (attack.read.includes('PATH_INVALID')) expect(answer).toBe('PATH_INVALID');
    }
    checkOutside(here.outside);
  });
});
