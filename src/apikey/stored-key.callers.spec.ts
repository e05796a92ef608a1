import { expect, it } from '@jest/globals';
import { ALL_PERMISSIONS } from '../platform/access/index.js';
import { effectivePermissions } from './stored-key.callers.js';

it.each([
  ['what both have', ['a:b:list', 'a:b:add'], ['a:b:list', 'a:b:edit'], ['a:b:list']],
  ['nothing without a choice', ['a:b:list'], [], []],
  [
    'no more than was chosen by an owner who may everything',
    [ALL_PERMISSIONS],
    ['a:b:edit'],
    ['a:b:edit'],
  ],
  ['never everything', [ALL_PERMISSIONS], [ALL_PERMISSIONS], []],
  [
    'what every user may, where it was chosen',
    [],
    ['chat:chat:use', 'a:b:list'],
    ['chat:chat:use'],
  ],
])('a key has %s', (_, owner, chosen, held) => {
  expect([...effectivePermissions(new Set(owner), chosen)]).toEqual(held);
});
