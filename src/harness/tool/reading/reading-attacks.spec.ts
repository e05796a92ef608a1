import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { z } from 'zod';
import {
  checkOutside,
  OUTSIDE_TEXT,
  pathAttacks,
  SECRET_TEXT,
} from '../../../../test/support/path-attacks.js';
import { noSecrets, ToolWorkspace } from '../../../../test/support/tool-workspace.js';
import { SecretMask } from '../../store/secret-mask.js';
import { RunSkills } from '../../store/message.repository.js';
import { ToolError } from '../../protocol/tool-call.js';
import { boundCall } from '../tool.js';
import type { ReadTool } from '../tool.js';
import { TOOL_NAMES, ToolRegistry, toolProviders } from '../tools.js';
import { FileSearch } from './file-search.js';

/** Refusals of a path that all tools share. */
const REFUSALS = ['OUTSIDE_WORKSPACE', 'SYMLINK_ESCAPE', 'PATH_INVALID'];

/** Values of the texts that a tool wants beside a path: they match everything, as a pattern, a glob or a skill's name. */
const MATCHING = ['.', '**/*'];

const testModule = await Test.createTestingModule({
  providers: [...toolProviders, FileSearch, { provide: SecretMask, useValue: noSecrets }],
})
  .useMocker(() => ({}))
  .compile();
const registry = testModule.get(ToolRegistry);

/** Every tool that reads what a path names, by its class and its input: a new one is attacked by itself. */
const readers = TOOL_NAMES.flatMap((name) => {
  const tool = registry.find(name);
  if (tool?.effectClass !== 'READ') return [];
  const { properties = {}, required = [] } = z.toJSONSchema(tool.input, { io: 'input' });
  if (!('path' in properties)) return [];
  const texts = required.filter((property) => property !== 'path');
  const inputs = (path: string): Record<string, unknown>[] =>
    MATCHING.map((text) => ({ ...Object.fromEntries(texts.map((one) => [one, text])), path }));
  return [{ name, tool, inputs, isOfSkill: texts.includes('name') }];
});

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

/** A skill whose folder is the workspace itself. */
function skillsOf(root: string): RunSkills {
  const place = { base: root, path: 'SKILL.md', source: '.agents/skills' };
  return new RunSkills(
    MATCHING.map((name) => ({ ...place, name, description: '', body: '', sha256: '' })),
  );
}

/** The content of the call's answer, or the code of its ToolError, and whether the policy learns of a secret. */
async function read(
  tool: ReadTool,
  input: unknown,
): Promise<{ readonly answer: string; readonly secret: boolean }> {
  const context = here.context({ skills: skillsOf(here.root) });
  let secret = false;
  try {
    const parsed = boundCall(tool, input).input;
    const subject = await tool.subject(parsed, context);
    secret = subject.kind === 'read' && subject.secret;
    return { answer: (await tool.run(parsed, context)).content, secret };
  } catch (error) {
    if (error instanceof ToolError) return { answer: error.code, secret };
    throw error;
  }
}

it('attacks the tools that read', () => {
  expect(readers.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['list_files', 'read_file', 'glob_files', 'search_text']),
  );
});

describe.each(readers)('$name', ({ tool, inputs, isOfSkill, name }) => {
  it.each(pathAttacks)('gets nothing out by $name', async (attack) => {
    attack.prepare(here.root, here.outside);
    const path = attack.path(here.root, here.outside);

    for (const input of inputs(path)) {
      const { answer, secret } = await read(tool, input);
      // The hard link is a file of the workspace.
      if (attack.name !== 'a hard link to a file') expect(answer).not.toContain(OUTSIDE_TEXT);
      // A person is asked before a secret is read.
      if (!secret) expect(answer).not.toContain(SECRET_TEXT);
      // Paths of a skill begin at its folder, and are refused with its words.
      if (isOfSkill) continue;
      const refusal = attack.read.find((code) => REFUSALS.includes(code));
      if (name === 'read_file' && attack.read.length > 0) expect(attack.read).toContain(answer);
      else if (refusal !== undefined && answer !== 'INVALID_ARGUMENTS') {
        expect(answer).toBe(refusal);
      }
    }
    checkOutside(here.outside);
  });

  it.each(pathAttacks)('gets nothing out of a workspace with $name', async (attack) => {
    attack.prepare(here.root, here.outside);

    for (const input of inputs('.')) {
      const { answer } = await read(tool, input);
      if (attack.name !== 'a hard link to a file') expect(answer).not.toContain(OUTSIDE_TEXT);
      expect(answer).not.toContain(SECRET_TEXT);
    }
    checkOutside(here.outside);
  });
});
