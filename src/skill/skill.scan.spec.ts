import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readSkill, readSkillResource, SkillCatalogue } from './index.js';
import type { SkillScan } from './index.js';
import { english } from '../platform/message/index.js';

const signal = new AbortController().signal;
const FOLDERS = ['.agents/skills', '.claude/skills'];

let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'plinth-skills-'));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, content: string): void {
  const file = join(base, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

function skillText(name: string): string {
  return `---\nname: ${name}\ndescription: What ${name} does.\n---\nDo ${name}.\n`;
}

/** Puts a skill into the folder of its name. */
function putSkill(folder: string, name: string): void {
  put(`${folder}/${name}/SKILL.md`, skillText(name));
}

async function scan(folders: readonly string[] = FOLDERS) {
  const roots = folders.map((folder) => ({ source: folder, base, folder }));
  return inEnglish(await new SkillCatalogue().scan(roots, signal));
}

function inEnglish({ skills, skipped }: SkillScan) {
  return {
    skills: skills.map((skill) => ({ ...skill, warnings: skill.warnings.map(english) })),
    skipped: skipped.map(({ path, reason }) => ({ path, reason: english(reason) })),
  };
}

async function names(): Promise<string[]> {
  return (await scan()).skills.map(({ name }) => name);
}

describe('a scan', () => {
  it('finds skills in folders of any name and depth up to 6, in the order of their paths', async () => {
    putSkill('.agents/skills', 'zeta');
    putSkill('.agents/skills', 'alpha');
    putSkill('.agents/skills/group/a/b/c/d', 'deepest');
    putSkill('.agents/skills/group/a/b/c/d/e', 'too-deep');
    putSkill('.claude/skills', 'beta');

    expect(await scan()).toEqual({
      skills: ['alpha', 'deepest', 'zeta', 'beta'].map((name) => ({
        name,
        description: `What ${name} does.`,
        source: name === 'beta' ? '.claude/skills' : '.agents/skills',
        base,
        path: expect.stringMatching(new RegExp(`^\\.\\w+/skills/.*${name}$`)),
        warnings: [],
      })),
      skipped: [
        {
          path: '.agents/skills/group/a/b/c/d/e/too-deep',
          reason: 'It is more than 6 folders deep. Move it up.',
        },
      ],
    });
  });

  it('finds nothing where there is nothing', async () => {
    expect(await scan()).toEqual({ skills: [], skipped: [] });
    mkdirSync(join(base, '.agents/skills'), { recursive: true });
    expect(await scan()).toEqual({ skills: [], skipped: [] });
    expect(
      await new SkillCatalogue().scan([{ source: 'none', base: join(base, 'none') }], signal),
    ).toEqual({
      skills: [],
      skipped: [],
    });
  });

  it.each(['.git', '.idea', 'node_modules', 'target', 'dist', 'build'])(
    'does not enter %s',
    async (folder) => {
      putSkill(`.agents/skills/${folder}`, 'hidden');
      putSkill(`.agents/skills/a/${folder}/b`, 'hidden-too');
      putSkill('.agents/skills/.other', 'shown');

      expect(await names()).toEqual(['shown']);
    },
  );

  it('takes what lies beside a SKILL.md for a part of that skill, and names the skills in it', async () => {
    putSkill('.agents/skills', 'outer');
    putSkill('.agents/skills/outer', 'near');
    putSkill('.agents/skills/outer/examples', 'inner');
    putSkill('.agents/skills/outer/node_modules', 'of-packages');

    const { skills, skipped } = await scan();
    expect(skills).toMatchObject([{ name: 'outer' }]);
    expect(skipped.map(({ path }) => path)).toEqual([
      '.agents/skills/outer/examples/inner',
      '.agents/skills/outer/near',
    ]);
    expect(skipped[0]?.reason).toBe(
      'It is inside the skill .agents/skills/outer, whose files are not looked through for skills. Move it beside that.',
    );
  });

  it('keeps the first skill of a name', async () => {
    putSkill('.claude/skills', 'mine');
    put('.agents/skills/b/SKILL.md', skillText('mine'));
    put('.agents/skills/a/SKILL.md', skillText('mine'));
    const { skills, skipped } = await scan();

    expect(skills).toMatchObject([
      { path: '.agents/skills/a', warnings: ['Name the folder mine, like the skill.'] },
    ]);
    expect(skipped.map(({ path }) => path)).toEqual([
      '.agents/skills/b/SKILL.md',
      '.claude/skills/mine/SKILL.md',
    ]);
    expect(skipped[1]?.reason).toBe(
      'There is already a skill mine in .agents/skills. Give this one another name.',
    );
  });

  it('names what it leaves out, and why', async () => {
    put('.agents/skills/SKILL.md', skillText('alone'));
    put('.agents/skills/lower/skill.md', skillText('lower'));
    put('.agents/skills/long/SKILL.md', skillText('long') + 'x'.repeat(256 * 1024));
    put('.agents/skills/nameless/SKILL.md', '---\ndescription: x\n---\n');
    mkdirSync(join(base, '.agents/skills/folder/SKILL.md'), { recursive: true });
    mkdirSync(join(base, '.agents/skills/pipe'));
    execFileSync('mkfifo', [join(base, '.agents/skills/pipe/SKILL.md')]);
    put('.agents/skills/README.md', 'What is here.');
    put('.claude/skills', 'a file');
    const { skills, skipped } = await scan();

    expect(skills).toEqual([]);
    expect(skipped).toEqual([
      {
        path: '.agents/skills/SKILL.md',
        reason: 'A skill needs its own folder. Move the file into one.',
      },
      {
        path: '.agents/skills/folder/SKILL.md',
        reason: 'It is not a regular file. Put the file here.',
      },
      {
        path: '.agents/skills/long/SKILL.md',
        reason: 'It is larger than 262144 bytes. Move parts of it into other files.',
      },
      {
        path: '.agents/skills/lower/skill.md',
        reason: 'The file must be named SKILL.md. Rename it.',
      },
      {
        path: '.agents/skills/nameless/SKILL.md',
        reason: expect.stringContaining('needs a name of 1 to 64'),
      },
      {
        path: '.agents/skills/pipe/SKILL.md',
        reason: 'It is not a regular file. Put the file here.',
      },
      { path: '.claude/skills', reason: 'It is not a folder. Put a folder of skills here.' },
    ]);
  });

  it('takes a SKILL.md of 256 KiB', async () => {
    const text = skillText('full');
    put('.agents/skills/full/SKILL.md', text + 'x'.repeat(256 * 1024 - text.length));

    expect(await names()).toEqual(['full']);
  });

  it('follows no link', async () => {
    putSkill('elsewhere', 'real');
    mkdirSync(join(base, '.agents/skills/linked-file'), { recursive: true });
    symlinkSync(
      join(base, 'elsewhere/real/SKILL.md'),
      join(base, '.agents/skills/linked-file/SKILL.md'),
    );
    symlinkSync(join(base, 'elsewhere/real'), join(base, '.agents/skills/linked-folder'));
    symlinkSync('nowhere', join(base, '.agents/skills/dangling'));
    symlinkSync('.', join(base, '.agents/skills/loop'));
    mkdirSync(join(base, '.claude'));
    symlinkSync(join(base, 'elsewhere'), join(base, '.claude/skills'));
    symlinkSync(join(base, '.agents'), join(base, '.codex'));
    const { skills, skipped } = await scan([...FOLDERS, '.codex/skills']);

    expect(skills).toEqual([]);
    expect(skipped).toEqual(
      [
        '.agents/skills/dangling',
        '.agents/skills/linked-file/SKILL.md',
        '.agents/skills/linked-folder',
      ]
        .concat('.agents/skills/loop', '.claude/skills', '.codex/skills')
        .map((path) => ({ path, reason: expect.stringContaining('It is a symbolic link') })),
    );
  });

  it('reads 100 skills, broken ones and those without a name of their own not counted', async () => {
    for (let n = 100; n < 203; n += 1) putSkill('.agents/skills', `skill-${n}`);
    put('.agents/skills/skill-150/SKILL.md', 'broken');
    put('.agents/skills/skill-160/SKILL.md', skillText('skill-100'));
    putSkill('.claude/skills', 'more');
    const { skills, skipped } = await scan();

    expect(skills).toHaveLength(100);
    expect(skills.at(-1)?.name).toBe('skill-201');
    expect(skipped.map(({ path }) => path)).toEqual([
      '.agents/skills/skill-150/SKILL.md',
      '.agents/skills/skill-160/SKILL.md',
      '.agents/skills/skill-202',
    ]);
    expect(skipped[2]?.reason).toBe('Only 100 skills are read. Remove skills that are not used.');
  });

  it('ends where there is more than the limit of entries', async () => {
    putSkill('.agents/skills', 'first');
    mkdirSync(join(base, '.agents/skills/second'));
    for (let n = 0; n < 10_000; n += 1) mkdirSync(join(base, `.agents/skills/second/${n}`));
    putSkill('.agents/skills', 'third');
    const { skills, skipped } = await scan();

    expect(skills.map(({ name }) => name)).toEqual(['first']);
    expect(skipped).toEqual([
      {
        path: '.agents/skills/second',
        reason: expect.stringContaining('has reached 10000 files and folders'),
      },
    ]);
  });

  it('tells the first problems of many, and the one that ended it', async () => {
    mkdirSync(join(base, '.agents/skills'), { recursive: true });
    for (let n = 0; n < 150; n += 1) symlinkSync('nowhere', join(base, `.agents/skills/link-${n}`));
    for (let n = 0; n < 101; n += 1) putSkill('.agents/skills', `skill-${n}`);
    const { skipped } = await scan();

    expect(skipped).toHaveLength(100);
    expect(skipped.at(-1)?.reason).toContain('Only 100 skills are read.');
  });

  it('ends with what it has found when it takes too long', async () => {
    putSkill('.agents/skills', 'mine');
    const roots = [{ source: 'x', base, folder: '.agents/skills' }];
    const timeLimit = AbortSignal.abort(new Error('late'));
    expect(inEnglish(await new SkillCatalogue().scan(roots, signal, timeLimit))).toEqual({
      skills: [],
      skipped: [
        { path: '.agents/skills', reason: expect.stringContaining('took longer than 30 s') },
      ],
    });
  });

  it('ends when its caller has left', async () => {
    putSkill('.agents/skills', 'mine');
    const left = AbortSignal.abort(new Error('left'));

    await expect(
      new SkillCatalogue().scan([{ source: 'x', base, folder: '.agents/skills' }], left),
    ).rejects.toThrow('left');
  });
});

describe('the built-in skills for documents', () => {
  it('are docx, pdf and xlsx, wherever the service was started', async () => {
    const catalogue = new SkillCatalogue();
    const started = process.cwd();
    try {
      process.chdir(base);
      await catalogue.onModuleInit();
    } finally {
      process.chdir(started);
    }

    expect(catalogue.documents.map(({ name }) => name)).toEqual(['docx', 'pdf', 'xlsx']);
    for (const skill of catalogue.documents) {
      expect(skill).toMatchObject({ source: 'built-in', warnings: [] });
      expect(skill.description.length).toBeGreaterThan(100);
    }
  });

  it('have every file that they name', async () => {
    const catalogue = new SkillCatalogue();
    await catalogue.onModuleInit();
    for (const skill of catalogue.documents) {
      const { body } = await readSkill(skill, signal);
      const named = new Set(body.match(/(?:references|scripts)\/[\w.-]+/g));

      expect(named.size).toBeGreaterThanOrEqual(2);
      for (const path of named) {
        expect((await readSkillResource(skill, path, signal)).length).toBeGreaterThan(1_000);
      }
    }
  });
});
