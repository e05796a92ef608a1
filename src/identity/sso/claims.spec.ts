import { describe, expect, it } from '@jest/globals';
import { mappedRoles, numbered, rolesAfter, userNameOf, valuesOf } from './claims.js';

describe('claims', () => {
  it('are a text, a list, or inside of objects', () => {
    expect(valuesOf({ groups: 'a' }, 'groups')).toEqual(['a']);
    expect(valuesOf({ groups: ['a', 1, 'b'] }, 'groups')).toEqual(['a', 'b']);
    expect(valuesOf({ realm_access: { roles: ['x'] } }, 'realm_access.roles')).toEqual(['x']);
    expect(valuesOf({ 'https://x.y/g': ['z'] }, 'https://x.y/g')).toEqual(['z']);
    expect(valuesOf({}, 'constructor.name')).toEqual([]);
  });

  const mapping = [
    { value: 'staff', roleId: 1 },
    { value: 'boss', roleId: 2 },
    { value: '*', roleId: 3 },
  ];

  it('give the roles that are mapped', () => {
    expect(mappedRoles(mapping, { groups: ['staff'] }, 'groups')).toEqual([1, 3]);
    expect(mappedRoles(mapping, { groups: ['*'] }, null)).toEqual([3]);
    expect(mappedRoles(mapping, {}, 'groups')).toEqual([3]);
  });

  it('set the mapped roles and leave the others', () => {
    expect(rolesAfter([2, 9], mapping, [1])).toEqual([1, 9]);
  });

  it('name a new user', () => {
    expect(userNameOf({ preferred_username: 'jo doe', email: 'a@b.c' }, 's')).toBe('jodoe');
    expect(userNameOf({ preferred_username: ' ', email: 'a@b.c' }, 's')).toBe('a@b.c');
    expect(userNameOf({}, 's')).toBe('user');
    expect(userNameOf({}, 'x'.repeat(200))).toHaveLength(64);
    expect(numbered('x'.repeat(64), 12)).toBe(`${'x'.repeat(61)}-12`);
  });
});
