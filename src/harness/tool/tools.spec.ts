import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { EffectClass } from '../../effect/index.js';
import type { FileTool, HarnessTool, OfferFacts, ReadTool } from './tool.js';
import { ToolRegistry, toolProviders, TOOL_NAMES } from './tools.js';

const facts: OfferFacts = {
  permissionMode: 'WORKSPACE_WRITE',
  approvalPolicy: 'ON_REQUEST',
  phase: 'BUILD',
  sandboxAvailable: true,
  mayAsk: true,
  hasSkills: true,
};

/** The real tools; what they are made of is not needed to say what they are. */
const tools = toolProviders
  .filter((provider) => typeof provider === 'function')
  .map((tool) => Reflect.construct(tool, []) as HarnessTool);
const registry = new ToolRegistry(tools);

function namesOf(...classes: readonly EffectClass[]): string[] {
  return tools.filter(({ effectClass }) => classes.includes(effectClass)).map(({ name }) => name);
}

function namesWithout(names: readonly string[], ...left: readonly string[]): string[] {
  return names.filter((name) => !left.includes(name));
}

function offeredTools(given: OfferFacts): string[] {
  return registry.definitions(given, []).map(({ name }) => name);
}

describe('the tools of a run', () => {
  it('READ_ONLY reads, and keeps a list of steps', () => {
    for (const phase of ['PLAN', 'BUILD'] as const) {
      const offered = offeredTools({ ...facts, permissionMode: 'READ_ONLY', phase });
      for (const name of [...namesOf('FILE', 'SHELL'), 'plan_create']) {
        expect(offered).not.toContain(name);
      }
      expect(offered).toEqual(expect.arrayContaining(namesOf('READ')));
      expect(offered).toContain('activate_skill');
    }
    expect(offeredTools({ ...facts, permissionMode: 'READ_ONLY' })).toContain('plan_step');
  });

  it('before the plan is approved nothing can be changed or run', () => {
    expect(offeredTools({ ...facts, phase: 'PLAN' })).toEqual(
      namesWithout(namesOf('READ', 'META'), 'plan_step'),
    );
  });

  it('after it everything but a new plan', () => {
    expect(offeredTools(facts)).toEqual(namesWithout(TOOL_NAMES, 'plan_create'));
  });

  it('no sandbox, no shell: whatever the mode', () => {
    for (const permissionMode of ['WORKSPACE_WRITE', 'FULL_ACCESS'] as const) {
      const offered = offeredTools({ ...facts, permissionMode, sandboxAvailable: false });
      expect(offered).not.toContain('shell');
      expect(offered).toContain('edit_file');
    }
  });

  it('the shell is not offered where its consent could not be asked for', () => {
    const never = { ...facts, approvalPolicy: 'NEVER' } as const;
    expect(offeredTools(never)).not.toContain('shell');
    expect(offeredTools({ ...never, permissionMode: 'FULL_ACCESS' })).toContain('shell');
  });

  it('skill tools need skills, and questions somebody who allows them', () => {
    expect(offeredTools({ ...facts, hasSkills: false })).not.toContain('activate_skill');
    expect(offeredTools({ ...facts, mayAsk: false })).not.toContain('ask_user');
    expect(offeredTools({ ...facts, approvalPolicy: 'NEVER' })).not.toContain('ask_user');
  });
});

describe('the catalogue of tools', () => {
  const common = { description: '', input: z.strictObject({}), title: () => '' };
  const reader: ReadTool<object> = {
    ...common,
    name: 'no_such_tool',
    effectClass: 'READ',
    subject: async () => ({ kind: 'read', secret: false }),
    run: async () => ({ content: '', summary: '' }),
  };
  const editor: FileTool<object> = {
    ...common,
    name: 'edit_file',
    effectClass: 'FILE',
    plan: async () => ({ files: [], content: '', summary: '' }),
  };
  const without = (name: string): HarnessTool[] => tools.filter((tool) => tool.name !== name);

  it('names every tool once', () => {
    expect(tools.map(({ name }) => name)).toEqual([...TOOL_NAMES]);
    expect(new Set(TOOL_NAMES).size).toBe(TOOL_NAMES.length);
  });

  it('fails for a name without a tool', () => {
    expect(() => new ToolRegistry(without('shell'))).toThrow('Missing: shell.');
  });

  it('fails for a tool without a name', () => {
    expect(() => new ToolRegistry([...tools, reader])).toThrow('Not listed: no_such_tool.');
    expect(() => new ToolRegistry([...without('shell'), reader])).toThrow(
      'Missing: shell. Not listed: no_such_tool.',
    );
  });

  it('fails for two tools with one name', () => {
    expect(() => new ToolRegistry([...tools, editor])).toThrow('differ from the catalogue');
  });

  it('never offers a tool that changes files or runs commands in READ_ONLY or before the plan', () => {
    for (const tool of tools) {
      if (tool.effectClass === 'READ' || tool.effectClass === 'META') continue;
      for (const over of [{ permissionMode: 'READ_ONLY' }, { phase: 'PLAN' }] as const) {
        for (const mode of ['WORKSPACE_WRITE', 'FULL_ACCESS'] as const) {
          expect(offeredTools({ ...facts, permissionMode: mode, ...over })).not.toContain(
            tool.name,
          );
        }
      }
    }
  });

  it('refuses a new editing tool in READ_ONLY and PLAN, whatever it says itself', () => {
    const added = { ...editor, refusal: () => undefined };
    const registered = new ToolRegistry([...without('edit_file'), added]);
    const bound = registered.find('edit_file');
    if (!bound) throw new Error('The tool is missing.');
    expect(registered.refusal(bound, facts)).toBeUndefined();
    expect(registered.refusal(bound, { ...facts, permissionMode: 'READ_ONLY' })).toBeDefined();
    expect(registered.refusal(bound, { ...facts, phase: 'PLAN' })).toBeDefined();
  });

  it('refuses a tool of an unknown class', () => {
    const bound = registry.find('read_file');
    if (!bound) throw new Error('The tool is missing.');
    const unknown = { ...bound, effectClass: 'NETWORK' as EffectClass };
    expect(registry.refusal(unknown, facts)).toBe('This tool has no effect class.');
  });
});
