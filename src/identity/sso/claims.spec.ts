import { describe, expect, it } from '@jest/globals';
import {
  directoryIds,
  mappedRoles,
  namesGroupsElsewhere,
  numbered,
  rolesAfter,
  userNameOf,
  valuesOf,
} from './claims.js';

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
    expect(rolesAfter([2, 9], mapping, [1], true)).toEqual([1, 2, 9]);
  });

  it('name a new user', () => {
    expect(userNameOf({ preferred_username: 'jo doe', email: 'a@b.c' }, 's')).toBe('jodoe');
    expect(userNameOf({ preferred_username: ' ', email: 'a@b.c' }, 's')).toBe('a@b.c');
    expect(userNameOf({}, 's')).toBe('user');
    expect(userNameOf({}, 'x'.repeat(200))).toHaveLength(64);
    expect(numbered('x'.repeat(64), 12)).toBe(`${'x'.repeat(61)}-12`);
  });
});

it('know whether groups are left out of the token', () => {
  const named = { _claim_names: { groups: 'src1' } };
  expect(namesGroupsElsewhere(named, 'groups')).toBe(true);
  expect(namesGroupsElsewhere({ _claim_names: { realm_access: 's' } }, 'realm_access.roles')).toBe(
    true,
  );
  expect(namesGroupsElsewhere({ hasgroups: 'true' }, 'groups')).toBe(true);
  for (const claims of [{}, { hasgroups: false }, { groups: ['a'], ...named }]) {
    expect(namesGroupsElsewhere(claims, 'groups')).toBe(false);
  }
  // Roles of an application have no such limit.
  expect(namesGroupsElsewhere({ ...named, hasgroups: true }, 'roles')).toBe(false);
});

it('takes the id of a directory from no claim that another provider could let people choose', () => {
  const claims = { oid: 'object', sub: 'pairwise', preferred_username: 'jo' };
  const entra = 'https://login.microsoftonline.com/0a21f0f2/v2.0';
  expect(directoryIds(entra, claims, 'pairwise')).toEqual(['pairwise', 'object']);
  expect(directoryIds(entra, { oid: 5 }, 'pairwise')).toEqual(['pairwise']);
  for (const other of ['https://id.example.com', 'https://login.microsoftonline.com.example.com']) {
    expect(directoryIds(other, claims, 'pairwise')).toEqual(['pairwise']);
  }
});
