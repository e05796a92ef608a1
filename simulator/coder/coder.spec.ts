import { describe, expect, it } from '@jest/globals';
import { Workbench } from './workbench.js';

const basket = `/** Price of one line in cents. */
export function lineTotal({ price, quantity }) {
  const full = price * quantity;
  return quantity > 10 ? Math.round(full * 0.95) : full;
}

/** Sum of all lines in cents. */
export function total(lines) {
  return lines.reduce((sum, line) => sum + lineTotal(line), 0);
}
`;
const fixed = basket.replace('quantity > 10', 'quantity >= 10');
const test = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineTotal, total } from '../src/basket.js';

test('ten pieces are cheaper', () => {
  assert.equal(lineTotal({ price: 100, quantity: 10 }), 950);
});

test('a basket is the sum of its lines', () => {
  assert.equal(total([{ price: 100, quantity: 2 }]), 200);
});
`;
const files = {
  'README.md': '# Basket\n\nReckons prices. Ten pieces or more of one kind cost 5 percent less.\n',
  'package.json': '{ "type": "module", "scripts": { "test": "node --test" } }',
  'src/basket.js': basket,
  'src/format.js': '/** Cents as euros. */\nexport const euros = (cents) => cents / 100;\n',
  'test/basket.test.js': test,
};

const names = (calls: readonly { name: string }[]): string[] => calls.map(({ name }) => name);

describe('a coder that repairs', () => {
  it('investigates, plans, edits, runs the tests and quotes what they said', () => {
    const said = ['ok 1', '# tests 2', '# pass 2', '# fail 0'].join('\n');
    const bench = new Workbench(files, { write: true, shell: true }, (name) =>
      name === 'shell' ? said : undefined,
    );
    const { calls, report, files: after } = bench.run('Fix the failing test.');
    expect(names(calls).filter((name) => name !== 'read_file')).toEqual([
      'activate_skill',
      'list_files',
      'plan_create',
      'edit_file',
      'shell',
      'plan_step',
    ]);
    const plan = calls.find(({ name }) => name === 'plan_create')?.arguments;
    expect(plan).toMatchObject({ files: ['src/basket.js'] });
    expect(JSON.stringify(plan)).toContain('Ten pieces or more');
    expect(calls.at(-2)?.arguments).toMatchObject({ command: 'node --test' });
    expect(JSON.stringify(calls.at(-1)?.arguments)).not.toContain('SKIPPED');
    expect(after.get('src/basket.js')).toBe(fixed);
    expect(report).toContain('+ return quantity >= 10');
    expect(report).toMatch(/```text\n[^`]*# pass 2\n[^`]*```/);
  });

  it('says so when it finds no cause, and when it may only read', () => {
    const sound = new Workbench({ ...files, 'src/basket.js': fixed });
    const { report, calls } = sound.run('Fix the failing test');
    expect(report).toContain('found nothing to change');
    expect(names(calls)).not.toContain('plan_create');
    expect(new Workbench(files, {}).run('Fix the bug').report).toContain('may only read');
  });

  it.each([
    ['for (let i = 0; i <= list.length; i++) {', 'i < list.length'],
    ['if (state = DONE) return;', 'state === DONE'],
    ['return sizes.reduce((sum, size) => sum + size);', 'sum + size, 0)'],
    ['return prices.toSorted((a, b) => a.cents - b.cents);', '=> b.cents - a.cents'],
    ['return count < MOST;', 'count <= MOST'],
  ])('finds the mistake in %s', (line, corrected) => {
    const bench = new Workbench({
      'README.md': 'Prices are listed with the highest first. Up to three pieces are allowed.',
      'a.js': `const MOST = 3;\n${line}\n`,
    });
    expect(bench.run('Find the bug and fix it').files.get('a.js')).toContain(corrected);
  });

  it('leaves alone what agrees with the rules', () => {
    const text = 'const low = price <= 5;\nif (price > 20) price = 0;\nreturn 10 >= quantity;\n';
    const bench = new Workbench({ 'README.md': 'More than 20 is dear.', 'a.js': text });
    expect(bench.run('Fix the bug').files.get('a.js')).toBe(text);
  });
});

describe('a coder with other intents', () => {
  it('adds a function that it knows, with a test', () => {
    const { files: after, report } = new Workbench(files).run(
      'Add a function `countPieces` that counts the pieces of a basket.',
    );
    expect(after.get('src/basket.js')).toContain('export function countPieces(lines) {');
    expect(after.get('test/basket.test.js')).toContain('import { lineTotal, total, countPieces }');
    expect(after.get('test/basket.test.js')).toContain("test('countPieces'");
    expect(report).toContain('src/basket.js');
  });

  it('leaves a skeleton for a function that it does not know, and says so', () => {
    const bench = new Workbench(files);
    const { files: after, calls } = bench.run('add a function called teleport to src/format.js');
    expect(after.get('src/format.js')).toContain("throw new Error('teleport is not written yet')");
    expect(JSON.stringify(calls)).toContain('skeleton');
  });

  it('renames, writes, deletes, and does two things at once', () => {
    const renamed = new Workbench(files).run('rename lineTotal to priceOfLine').files;
    expect([...renamed.values()].join('\n')).not.toContain('lineTotal');
    const written = new Workbench(files).run('Add "Prices are whole cents." to README.md').files;
    expect(written.get('README.md')).toMatch(/5 percent less\.\n\nPrices are whole cents\./);
    expect(new Workbench(files).run('delete src/format.js').files.has('src/format.js')).toBe(false);
    const both = new Workbench(files).run('Fix the bug and add a function `median`.').files;
    expect(both.get('src/basket.js')).toMatch(/>= 10[^]*function median/);
  });

  it('explains from what it has read, and changes nothing', () => {
    const { report, calls } = new Workbench(files).run('Explain how ten pieces are priced.');
    expect(report).toContain('Ten pieces or more of one kind cost 5 percent less.');
    expect(report).toContain('`total` in src/basket.js: Sum of all lines in cents.');
    expect(new Set(names(calls))).toEqual(new Set(['activate_skill', 'list_files', 'read_file']));
  });

  it('runs the tests after a plan that changes nothing', () => {
    const { calls } = new Workbench(files).run('Run the tests.');
    expect(names(calls).slice(-3)).toEqual(['plan_create', 'shell', 'plan_step']);
  });

  it('asks when it does not understand, and takes the answer in', () => {
    const bench = new Workbench(files, { write: true, ask: true }, (name) =>
      name === 'ask_user' ? 'Fix the failing test' : undefined,
    );
    expect(bench.run('hm').files.get('src/basket.js')).toBe(fixed);
    expect(new Workbench(files).run('hm').report).toContain('beyond that');
  });

  it('takes a further requirement up where the last one ended', () => {
    const bench = new Workbench(files);
    bench.run('Explain the repository');
    expect(bench.run('Now fix the failing test').files.get('src/basket.js')).toBe(fixed);
  });
});

describe('a coder whose tools fail', () => {
  it('reads again when an edit came to nothing, and then repeats it', () => {
    const bench = new Workbench(files, { write: true }, (name, _, count) =>
      name === 'edit_file' && count === 1 ? 'Error: the file was changed meanwhile.' : undefined,
    );
    const { calls, files: after } = bench.run('Fix the failing test');
    const last = ['edit_file', 'read_file', 'edit_file', 'plan_step'];
    expect(names(calls).slice(-4)).toEqual(last);
    expect(JSON.stringify(calls.at(-1)?.arguments)).toContain('SKIPPED');
    expect(after.get('src/basket.js')).toBe(fixed);
  });

  it.each(['edit_file', 'plan_create', 'list_files', 'read_file', 'activate_skill', 'shell'])(
    'ends with words when %s always fails',
    (broken) => {
      const bench = new Workbench(files, { write: true, shell: true }, (name) =>
        name === broken ? 'Error: this does not work today.' : undefined,
      );
      const { calls, report } = bench.run('Fix the failing test');
      expect(calls.filter(({ name }) => name === broken).length).toBeLessThan(10);
      expect(report).not.toBe('');
    },
  );

  it('understands results that are set apart, and reads again what was left out', () => {
    const seen = new Set<string>();
    const bench = new Workbench(files, { write: true }, (name, { path }, count) => {
      if (name === 'edit_file' && count === 1) {
        return '[data 1a2b from edit_file, an error]\nThe file was changed.\n[end of data 1a2b]';
      }
      if (path !== 'README.md' || name !== 'read_file' || seen.size > 0) return undefined;
      seen.add(path);
      return '[harness 1a2b] The output of this call was left out to save room.';
    });
    const { calls, files: after } = bench.run('Fix the failing test');
    expect(names(calls).filter((name) => name === 'edit_file')).toHaveLength(2);
    expect(calls.filter(({ arguments: given }) => given['path'] === 'README.md')).toHaveLength(2);
    expect(after.get('src/basket.js')).toBe(fixed);
  });

  it('stops at once when a person refuses', () => {
    const bench = new Workbench(files, { write: true }, (name) =>
      name === 'edit_file' ? 'Denied: leave this file alone.' : undefined,
    );
    const { calls, report } = bench.run('Fix the failing test');
    expect(names(calls).filter((name) => name === 'edit_file')).toHaveLength(1);
    expect(report).toContain('leave this file alone');
  });
});
