import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemCaller } from '../../platform/access/index.js';
import { DomainError } from '../../platform/error/index.js';
import { estimatingCounter } from '../../model/index.js';
import type { SkillInfo } from '../../skill/index.js';
import { MAX_CONTENT_CHARS, ToolFailure } from './agent-tool.js';
import type { ToolContext } from './agent-tool.js';
import { ActivateSkillTool, ReadSkillResourceTool } from './skill.tools.js';
import { TurnSources } from './sources.js';

const LONG = `Do it.\n${'Ä line with more than ASCII.\n'.repeat(3_000)}The end.`;
const activate = new ActivateSkillTool();
const read = new ReadSkillResourceTool();

let base: string;
let context: ToolContext;

const skillAt = (name: string, description = 'What it does.'): SkillInfo => ({
  name,
  description,
  source: 'built-in',
  base,
  path: name,
  warnings: [],
});

function write(name: string, file: string, content: string | Buffer): void {
  mkdirSync(join(base, name), { recursive: true });
  writeFileSync(join(base, name, file), content);
}

const entry = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: What it does.\n---\n${body}`;

async function failure(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((caught: unknown) => caught);
  if (error instanceof ToolFailure || error instanceof DomainError) return error.message;
  throw new Error(`No failure for the model: ${String(error)}`);
}

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'plinth-agent-skill-'));
  write('short', 'SKILL.md', entry('short', 'Just do it.\n'));
  write('short', 'guide.md', LONG);
  write('short', 'empty.md', '');
  write('short', 'picture.png', Buffer.from([0x89, 0x50, 0, 1]));
  write('long', 'SKILL.md', `\ufeff${entry('long', LONG)}`);
  write('other', 'SKILL.md', entry('other', 'Not bound to the agent.'));
  symlinkSync('/etc/passwd', join(base, 'short', 'link.md'));
  context = {
    room: { tokens: 32_000, counter: estimatingCounter },
    caller: systemCaller('000000', 1),
    bases: [],
    skills: [skillAt('short'), skillAt('long')],
    signal: new AbortController().signal,
    sources: new TurnSources(),
  };
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

describe('the skill tools of agents', () => {
  it('are offered to agents with skills only, and list them', () => {
    const none = { ...context, skills: [] };
    for (const tool of [activate, read]) {
      expect(tool.refusal(none)).toBe('This agent has no skills.');
      expect(tool.refusal(context)).toBeUndefined();
    }
    const skills = [skillAt('short', `First.\n${'x'.repeat(2_000)}`), skillAt('long')];
    const [, first = '', second] = activate.describe({ ...context, skills }).split('\n');
    expect(first).toMatch(/^- short: First\. x+…$/);
    expect(first.length).toBeLessThan(330);
    expect(second).toBe('- long: What it does.');
  });

  it('give the exact body of a skill', async () => {
    expect(await activate.run({ name: 'short' }, context)).toEqual({
      content: 'Just do it.\n',
      summary: 'activated short',
    });
  });

  it('give a long body and a long file in parts that make up the whole', async () => {
    const { content } = await activate.run({ name: 'long' }, context);
    expect(content.length).toBeLessThanOrEqual(MAX_CONTENT_CHARS);
    const [, shown = '', offset] =
      /^([^]*)\n\[Cut\. Read the rest with read_skill_resource, path SKILL\.md and offset (\d+)\.\]$/.exec(
        content,
      ) ?? [];
    expect(shown + (await rest('long', 'SKILL.md', Number(offset)))).toBe(LONG);
    expect(await rest('short', 'guide.md', 0)).toBe(LONG);
  });

  async function rest(name: string, path: string, from: number): Promise<string> {
    let whole = '';
    for (let offset = from; ;) {
      const { content } = await read.run({ name, path, offset }, context);
      expect(content.length).toBeLessThanOrEqual(MAX_CONTENT_CHARS);
      const cut = /\n\[Cut: \d+ of \d+ characters are missing\. Call again with offset (\d+)\.\]$/;
      const next = cut.exec(content);
      whole += content.replace(cut, '');
      if (!next) return whole;
      expect(Number(next[1])).toBeGreaterThan(offset);
      offset = Number(next[1]);
    }
  }

  it('say that a file is empty', async () => {
    const { content } = await read.run({ name: 'short', path: 'empty.md' }, context);
    expect(content).toBe('[The file is empty.]');
  });

  it('reach the skills of the agent and nothing else', async () => {
    const known = 'There is no skill "other". There are: short, long.';
    expect(await failure(activate.run({ name: 'other' }, context))).toBe(known);
    expect(await failure(read.run({ name: 'other', path: 'SKILL.md' }, context))).toBe(known);
    const leads = ['../other/SKILL.md', '/etc/passwd', 'link.md', 'guide.md/../../other/SKILL.md'];
    for (const path of leads) {
      expect(await failure(read.run({ name: 'short', path }, context))).toContain('The path');
    }
  });

  it.each([
    ['missing.md', 0, 'was not found'],
    ['picture.png', 0, 'is not UTF-8 text'],
    ['guide.md', 10_000_000, 'Give a smaller offset.'],
  ])('say why %s from %i cannot be read', async (path, offset, why) => {
    expect(await failure(read.run({ name: 'short', path, offset }, context))).toContain(why);
  });
});
