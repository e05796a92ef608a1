import { describe, expect, it } from '@jest/globals';
import { offeredTools } from './offered-tools.js';
import type { OfferFacts } from './offered-tools.js';

const facts: OfferFacts = {
  permissionMode: 'WORKSPACE_WRITE',
  approvalPolicy: 'ON_REQUEST',
  phase: 'BUILD',
  sandboxAvailable: true,
  mayAsk: true,
  hasSkills: true,
};

const reading = ['list_files', 'read_file', 'glob_files', 'search_text'];
const editing = ['edit_file', 'multi_edit', 'write_file', 'apply_patch', 'delete_file'];
const skills = ['activate_skill', 'read_skill_resource'];

describe('the tools of a run', () => {
  it('READ_ONLY reads, and keeps a list of steps', () => {
    for (const phase of ['PLAN', 'BUILD'] as const) {
      const offered = offeredTools({ ...facts, permissionMode: 'READ_ONLY', phase });
      for (const name of [...editing, 'shell', 'plan_create']) expect(offered).not.toContain(name);
      expect(offered).toEqual(expect.arrayContaining([...reading, ...skills]));
    }
    expect(offeredTools({ ...facts, permissionMode: 'READ_ONLY' })).toContain('plan_step');
  });

  it('before the plan is approved nothing can be changed or run', () => {
    expect(offeredTools({ ...facts, phase: 'PLAN' })).toEqual([
      ...reading,
      'plan_create',
      'ask_user',
      ...skills,
    ]);
  });

  it('after it everything but a new plan', () => {
    expect(offeredTools(facts)).toEqual([
      ...reading,
      ...editing,
      'shell',
      'plan_step',
      'ask_user',
      ...skills,
    ]);
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
