import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { cruise } from 'dependency-cruiser';
import type { ICruiseOptions, ICruiseResult, IFlattenedRuleSet } from 'dependency-cruiser';

type Configuration = Required<Pick<IFlattenedRuleSet, 'forbidden'>> & { options: ICruiseOptions };

const root = fileURLToPath(new URL('../..', import.meta.url));
const violations = join(root, 'test', 'architecture', 'violations');
const rules = pathToFileURL(join(root, '.dependency-cruiser.mjs')).href;
const { forbidden, options } = ((await import(rules)) as { default: Configuration }).default;
const ruleNames = [...new Set(forbidden.map(({ name }) => name))].sort();

/** The names of the rules that a tree breaks, with the file that breaks each. */
async function violationsIn(baseDir: string): Promise<string[]> {
  const { output } = await cruise(topOf(baseDir), {
    ...options,
    baseDir,
    validate: true,
    ruleSet: { forbidden },
  });
  return (output as ICruiseResult).summary.violations.map(
    ({ rule, from }) => `${rule.name}: ${from}`,
  );
}

function topOf(folder: string): string[] {
  return ['src', 'simulator', 'acp', 'client', 'web', 'ormconfig.ts'].filter((name) =>
    readdirSync(folder).includes(name),
  );
}

describe('the dependency rules', () => {
  it('hold in the whole tree', async () => {
    expect(await violationsIn(root)).toEqual([]);
  });

  it('each have a planted violation', () => {
    expect(readdirSync(violations).sort()).toEqual(ruleNames);
  });

  it.each(ruleNames)('%s is reported for its planted violation, and nothing else', async (name) => {
    const found = await violationsIn(join(violations, String(name)));
    expect([...new Set(found.map((line) => line.split(':')[0]))]).toEqual([name]);
  });

  it.each(['calls-through-outbound', 'one-way-to-each-store'])(
    '%s is reported for every planted file',
    async (name) => {
      const tree = join(violations, name);
      const planted = readdirSync(tree, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .map((path) => `${name}: ${path}`);
      expect([...new Set(await violationsIn(tree))].sort()).toEqual(planted.sort());
    },
  );

  it('rooms-below-the-root is reported in every folder of the rule', async () => {
    const found = await violationsIn(join(violations, 'rooms-below-the-root'));
    expect(found.map((line) => line.split('/')[1]).sort()).toEqual([
      'compatible-api',
      'harness',
      'identity',
    ]);
  });

  it('room-order is reported in every folder that has rooms', async () => {
    const ordered = forbidden.filter(({ name }) => name === 'room-order');
    const folders = new Set(ordered.map(({ from }) => String(from.path).split('/')[1]));
    const found = await violationsIn(join(violations, 'room-order'));
    expect(new Set(found.map((line) => line.split('/')[1]))).toEqual(folders);
  });
});
