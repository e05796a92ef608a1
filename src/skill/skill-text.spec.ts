import { describe, expect, it } from '@jest/globals';
import { readSkillText } from './skill-text.js';
import type { SkillText } from './skill-text.js';
import { english } from '../platform/message/index.js';

function read(text: string | Uint8Array): SkillText {
  return readSkillText(Buffer.from(text));
}

function withFields(...fields: string[]): SkillText {
  return read(['---', ...fields, '---', 'Body.'].join('\n'));
}

const described = 'description: What it does.';

describe('a SKILL.md', () => {
  it('is name, description and the unchanged rest', () => {
    const text = read(
      '---\nname: my-skill\ndescription: What it does.\n---\n\n# Title\r\n---\nEnd',
    );

    expect(text).toEqual({
      name: 'my-skill',
      description: 'What it does.',
      body: '\n# Title\r\n---\nEnd',
      warnings: [],
    });
  });

  it('may begin with a byte order mark and end its lines as Windows does', () => {
    const text = read(
      '\ufeff--- \r\nname: my-skill\r\ndescription: >-\r\n  one\r\n  two\r\n---\t\r\nBody.',
    );

    expect(text).toMatchObject({ name: 'my-skill', description: 'one two', body: 'Body.' });
  });

  it('may be nothing but its frontmatter', () => {
    expect(read(`---\nname: a\n${described}\n---`).body).toBe('');
  });

  it.each([
    ['nothing', ''],
    ['no frontmatter', '# Title\n'],
    ['an empty first line', `\n---\nname: a\n${described}\n---\n`],
    ['an open frontmatter', `---\nname: a\n${described}\n`],
    ['a fence of four', `---\nname: a\n${described}\n----\n`],
    ['a fence with more on its line', `---\nname: a\n${described}\n--- end\n`],
  ])('with %s is refused', (_, text) => {
    expect(() => read(text)).toThrow(
      'SKILL.md has no closed frontmatter. Start it with a line ---',
    );
  });

  it('that is not UTF-8 is refused', () => {
    expect(() => read(Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]))).toThrow('is not UTF-8');
  });
});

describe('a name', () => {
  it.each(['a', '7', 'pdf', 'my-skill-2', `a${'b'.repeat(63)}`, '123'])('%s is taken', (name) => {
    expect(withFields(`name: ${name}`, described)).toMatchObject({ name, warnings: [] });
  });

  it.each(['a-', 'a--b'])('%s is taken with a warning', (name) => {
    const text = withFields(`name: ${name}`, described);
    expect(text.name).toBe(name);
    expect(text.warnings.map(english)).toEqual([expect.stringContaining('Other implementations')]);
  });

  it.each([
    '',
    '-a',
    'A',
    'aB',
    'a_b',
    'a b',
    'a.b',
    'a/b',
    '../a',
    `a${'b'.repeat(64)}`,
    'ä',
    'ａ',
    'a\u0301',
    '"a\\n"',
    '"a\\0"',
    '[a]',
    '{a: b}',
  ])('%j is refused', (name) => {
    expect(() => withFields(`name: ${name}`, described)).toThrow(
      'The frontmatter needs a name of 1 to 64',
    );
  });

  it('is needed', () => {
    expect(() => withFields(described)).toThrow('The frontmatter needs a name');
    expect(() => withFields('__proto__: {name: a}', described)).toThrow('needs a name');
  });
});

describe('a description', () => {
  it('has up to 1000 characters, however many bytes they take', () => {
    const longest = '𠮷'.repeat(1_000);

    expect(withFields('name: a', `description: ${longest}`).description).toBe(longest);
    expect(() => withFields('name: a', `description: ${longest}x`)).toThrow(
      'The description has 1001 characters; at most 1000 are allowed. Shorten it.',
    );
  });

  it.each([
    'name: a',
    'name: a\ndescription:',
    'name: a\ndescription: "  "',
    'name: a\ndescription: [b]',
  ])('is needed: %j', (fields) => {
    expect(() => withFields(fields)).toThrow('The frontmatter needs a description');
  });

  it('holds no control characters but line ends, and no half characters', () => {
    expect(() => withFields('name: a', 'description: "a\\0b"')).toThrow('control characters');
    expect(() => withFields('name: a', 'description: "a\\eb"')).toThrow('control characters');
    expect(withFields('name: a', 'description: "a\\nb\\ud800"').description).toBe('a\nb\ufffd');
  });

  it('may be a word that YAML has another meaning for', () => {
    expect(withFields('name: a', 'description: yes').description).toBe('yes');
    expect(withFields('name: a', 'description: 2026-01-31').description).toBe('2026-01-31');
  });
});

describe('the frontmatter', () => {
  it('is read word by word when only a colon makes it invalid', () => {
    const text = withFields(
      'name: a',
      'description: Use it when: always, "quoted" or not',
      'license: MIT',
    );

    expect(text.description).toBe('Use it when: always, "quoted" or not');
    expect(text.warnings.map(english)).toEqual([expect.stringContaining('quote its values')]);
  });

  it('may have the fields of the public format, which grant nothing, and others with a warning', () => {
    const known = [
      'license: MIT',
      'compatibility: any',
      'metadata:\n  author: me',
      'allowed-tools: shell',
    ];

    expect(withFields('name: a', described, ...known).warnings).toEqual([]);
    const { warnings } = withFields('name: a', described, 'model: x', 'hooks: [y]');
    expect(warnings.map(english)).toEqual(['Fields without effect: model, hooks.']);
    expect(Object.keys(withFields('name: a', described, ...known)).sort()).toEqual([
      'body',
      'description',
      'name',
      'warnings',
    ]);
  });

  it.each([
    ['broken', 'name: [a'],
    ['a list', '- name: a'],
    ['a text', 'just words'],
    ['empty', ''],
    ['a field twice', `name: a\nname: b\n${described}`],
    ['an alias', `name: &a b\n${described}\nx: *a`],
    ['an alias that grows', 'a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]'],
    ['16,000 brackets', `x: ${'['.repeat(16_000)}`],
    ['16,000 dashes', `x:\n${'- '.repeat(8_000)}`],
    ['braces in each other', `x: ${'{a: '.repeat(4_000)}`],
  ])('that is %s is refused', (_, fields) => {
    expect(() => withFields(fields)).toThrow(/The frontmatter is not valid YAML: ./);
  });

  it('is at most 16 KiB long', () => {
    const filled = (bytes: number): string[] => {
      const fields = ['name: a', described, 'license: '];
      const used = Buffer.byteLength(`${fields.join('\n')}\n`);
      return [...fields.slice(0, 2), `license: ${'x'.repeat(bytes - used)}`];
    };

    expect(withFields(...filled(16_384)).name).toBe('a');
    expect(() => withFields(...filled(16_385))).toThrow(
      'The frontmatter is longer than 16384 bytes.',
    );
  });
});
