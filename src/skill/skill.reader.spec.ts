import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError } from '../platform/error/index.js';
import { readSkill, readSkillResource } from './index.js';
import type { SkillInfo } from './index.js';
import { closing, OpenFolder } from '../platform/filesystem/index.js';

const MIB = 1_048_576;
const signal = new AbortController().signal;
const SECRET = 'What lies outside.';

let place: string;
let base: string;
let skill: SkillInfo;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'plinth-skill-'));
  base = join(place, 'workspace');
  skill = {
    name: 'mine',
    description: 'What it does.',
    source: '.agents/skills',
    base,
    path: '.agents/skills/mine',
    warnings: [],
  };
  put('SKILL.md', '---\nname: mine\ndescription: What it does.\n---\nDo it.\n');
  put('references/guide.md', 'The guide.');
  put('../mine-evil/secret.md', SECRET);
  put('../../../../outside/secret.md', SECRET);
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

function at(path: string): string {
  return join(base, skill.path, path);
}

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
}

function link(path: string, target: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  symlinkSync(target, at(path));
}

async function refusal(path: string): Promise<string> {
  const error = await readSkillResource(skill, path, signal).catch((thrown: unknown) => thrown);
  if (!(error instanceof DomainError)) throw new Error(`${path} gave ${String(error)}`);
  expect([400, 404]).toContain(error.code);
  return error.message;
}

describe('a resource of a skill', () => {
  it('is the text of a file below its folder', async () => {
    put('a/b/c/d/deep.txt', '\ufeffGrüße, 世界');

    expect(await readSkillResource(skill, 'references/guide.md', signal)).toBe('The guide.');
    expect(await readSkillResource(skill, './references/guide.md', signal)).toBe('The guide.');
    expect(await readSkillResource(skill, 'a/b/c/d/deep.txt', signal)).toBe('Grüße, 世界');
    expect(await readSkillResource(skill, 'SKILL.md', signal)).toContain('Do it.');
  });

  it.each([
    ['../mine-evil/secret.md'],
    ['references/../../mine-evil/secret.md'],
    ['references/../references/guide.md'],
    ['..'],
    ['/etc/passwd'],
    ['..\\mine-evil\\secret.md'],
    ['references/guide.md\0'],
    [''],
    ['x'.repeat(10_000)],
  ])('is not %j', async (path) => {
    expect(await refusal(path)).toContain('Give the path of a file in the folder of the skill');
  });

  it('is not read from a sibling whose name begins alike', async () => {
    expect(await refusal('-evil/secret.md')).toContain('was not found');
    expect(await refusal(`${at('')}-evil/secret.md`)).toContain('is absolute');
  });

  it.each([
    ['References/guide.md'],
    ['references/GUIDE.MD'],
    ['references/guide.md/'.normalize('NFKD').slice(0, -1) + '\u200b'],
    ['%2e%2e/mine-evil/secret.md'],
    ['．．/mine-evil/secret.md'],
    ['‥/mine-evil/secret.md'],
    ['references／guide.md'],
    ['references/guide.md/more'],
    ['nothing/here.md'],
  ])('is not found as %j', async (path) => {
    expect(await refusal(path)).toContain('was not found. It may have been deleted.');
  });

  it('is found by the very bytes of its name only', async () => {
    put('references/caf\u00e9.md', 'One character.');

    expect(await readSkillResource(skill, 'references/caf\u00e9.md', signal)).toBe(
      'One character.',
    );
    expect(await refusal('references/cafe\u0301.md')).toContain('was not found');
  });

  it('is not reached over a link, wherever that leads', async () => {
    link('to-file.md', '../../../../outside/secret.md');
    link('to-own-file.md', 'references/guide.md');
    link('to-folder', '../../../../outside');
    link('to-own-folder', 'references');
    link('to-nothing', 'nowhere');
    link('to-itself', 'to-itself');
    link('to-root', '/');
    link('references/up', '..');
    for (const path of [
      'to-file.md',
      'to-own-file.md',
      'to-folder/secret.md',
      'to-own-folder/guide.md',
      'to-nothing',
      'to-nothing/x',
      'to-itself',
      'to-root/etc/passwd',
      'references/up/SKILL.md',
    ]) {
      expect(await refusal(path)).toContain('leads over a symbolic link');
    }
  });

  it('is not reached when a link has taken the place of the skill', async () => {
    renameSync(at(''), `${at('')}-before`);
    symlinkSync(join(place, 'outside'), at(''));

    expect(await refusal('secret.md')).toContain('leads over a symbolic link');
    await expect(readSkill(skill, signal)).rejects.toThrow('leads over a symbolic link');
  });

  it('is not reached when a link has taken the place of a folder above the skill', async () => {
    mkdirSync(join(place, 'outside/skills/mine'), { recursive: true });
    writeFileSync(join(place, 'outside/skills/mine/secret.md'), SECRET);
    renameSync(join(base, '.agents'), join(base, 'before'));
    symlinkSync(join(place, 'outside'), join(base, '.agents'));

    expect(await refusal('secret.md')).toContain('leads over a symbolic link');
  });

  it('is a regular file', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    const server = createServer().listen(at('socket'));
    await once(server, 'listening');
    try {
      for (const path of ['pipe', 'socket', 'references']) {
        expect(await refusal(path)).toContain('does not name a regular file');
      }
    } finally {
      server.close();
    }
  });

  it('has at most 1 MiB', async () => {
    put('fits.txt', 'x'.repeat(MIB));
    put('large.txt', 'x'.repeat(MIB + 1));

    expect(await readSkillResource(skill, 'fits.txt', signal)).toHaveLength(MIB);
    expect(await refusal('large.txt')).toBe(
      'large.txt is larger than 1048576 bytes. Split it, or use a script of the skill that reads it in parts.',
    );
  });

  it.each([
    ['Latin-1', Buffer.from('Gr\u00fc\u00dfe', 'latin1')],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a])],
    ['NUL', Buffer.from('a\0b')],
    ['half a surrogate pair', Buffer.from([0xed, 0xa0, 0x80])],
  ])('is UTF-8, not %s', async (_, bytes) => {
    put('odd.bin', bytes);

    expect(await refusal('odd.bin')).toContain('is not UTF-8 text');
  });

  it('may have several names', async () => {
    linkSync(at('references/guide.md'), at('same.md'));

    expect(await readSkillResource(skill, 'same.md', signal)).toBe('The guide.');
  });

  it('is not read for somebody who has left', async () => {
    const left = AbortSignal.abort(new Error('left'));

    await expect(readSkillResource(skill, 'references/guide.md', left)).rejects.toThrow('left');
  });
});

describe('the text of a skill', () => {
  it('is read anew', async () => {
    expect(await readSkill(skill, signal)).toMatchObject({ name: 'mine', body: 'Do it.\n' });
    put('SKILL.md', '---\nname: mine\ndescription: Other.\n---\nDo something else.');

    expect(await readSkill(skill, signal)).toMatchObject({ description: 'Other.' });
  });

  it('is refused once it is another skill, too long, or gone', async () => {
    put('SKILL.md', '---\nname: other\ndescription: Other.\n---\n');
    await expect(readSkill(skill, signal)).rejects.toThrow('is now named other');
    put('SKILL.md', `---\nname: mine\ndescription: Other.\n---\n${'x'.repeat(256 * 1024)}`);
    await expect(readSkill(skill, signal)).rejects.toThrow('larger than 262144 bytes');
    rmSync(at('SKILL.md'));
    await expect(readSkill(skill, signal)).rejects.toThrow(
      'SKILL.md of the skill mine was not found',
    );
  });
});

describe('an open folder', () => {
  it('stays the folder that was opened, whatever takes its place', async () => {
    const text = await closing(await OpenFolder.open(at('')), async (opened) =>
      closing(await opened.folder(['references']), async (references) => {
        renameSync(at('references'), at('moved'));
        symlinkSync(join(place, 'outside'), at('references'));
        expect((await references.entries(10))?.map(({ name }) => name)).toEqual(['guide.md']);
        await expect(references.read('secret.md', MIB, signal)).rejects.toThrow('missing');
        return references.read('guide.md', MIB, signal);
      }),
    );

    expect(text.toString()).toBe('The guide.');
  });

  it('has names, not paths', async () => {
    await closing(await OpenFolder.open(at('')), async (opened) => {
      for (const name of ['', '.', '..', 'a/b', '../x', '/etc', 'a\0']) {
        await expect(opened.folder([name])).rejects.toThrow('is not the name');
        await expect(opened.read(name, MIB, signal)).rejects.toThrow('is not the name');
      }
    });
  });

  it('is closed again, also after a failure', async () => {
    const before = openHandles();
    for (const path of ['references/guide.md', 'references/none.md', 'none/at/all', 'references']) {
      await readSkillResource(skill, path, signal).catch(() => undefined);
    }

    expect(openHandles()).toBe(before);
  });
});

function openHandles(): number {
  return readdirSync('/proc/self/fd').length;
}
