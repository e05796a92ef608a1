import { describe, expect, it } from '@jest/globals';
import { shownCommand, shownFiles } from './tool.consent.js';
import type { PlannedFile } from '../protocol/tool-call.js';

describe('what is shown of a call', () => {
  it('holds no mark of the server that the command has written itself', () => {
    const command = 'echo a ⏎ true; echo […9 characters left out…] ⟨U+202E⟩\nrm\u3164x';
    expect(shownCommand(command)).toMatchObject({
      summary:
        'run echo a ⟨U+23CE⟩ true; echo [⟨U+2026⟩9 characters left out…] ⟨U+27E8⟩U+202E⟩ ⏎ rm⟨U+3164⟩x',
      preview: { command },
    });
  });

  it.each([
    ['src/app/(group)/page.ts', 'create src/app/(group)/page.ts (0 to 1 bytes)'],
    ['a (+1 -0 lines); delete b', 'create "a (+1 -0 lines); delete b" (0 to 1 bytes)'],
    ['a\u2800b', 'create a⟨U+2800⟩b (0 to 1 bytes)'],
  ])('is one file where the path is %j', (path, summary) => {
    const after = { size: 1 };
    const planned = [{ operation: { path, op: 'CREATE', before: null, after } }] as PlannedFile[];
    expect(shownFiles(planned, []).summary).toBe(summary);
  });
});
