import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { keyPermissionCatalogue, permissionCatalogue } from './permission.catalogue.js';

interface Texts {
  readonly permission: Readonly<Record<string, string>>;
  readonly group: Readonly<Record<string, string>>;
}

/** As the console makes the key of a text: a colon has a meaning in keys. */
const keyOf = (permission: string): string => permission.replaceAll(':', '_');
const all = [...permissionCatalogue, ...keyPermissionCatalogue];
const keys = all.map(({ permission }) => keyOf(permission)).sort();
const groups = [
  ...new Set(all.map(({ permission }) => keyOf(permission.slice(0, permission.lastIndexOf(':'))))),
].sort();

it.each(['en', 'zh'])('the console says in words what each permission allows: %s', (language) => {
  const file = `web/src/administration/texts.${language}.json`;
  const { permission, group } = JSON.parse(readFileSync(file, 'utf8')) as Texts;
  expect(Object.keys(permission).sort()).toEqual(keys);
  expect(Object.keys(group).sort()).toEqual(groups);
  expect(Object.values({ ...permission, ...group })).not.toContain('');
});
