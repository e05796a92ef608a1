import { describe, expect, it } from '@jest/globals';
import { groupOf, memberKey, patchedGroup, patchedUser, userOf } from './scim.changes.js';
import type { GroupMembers } from './scim.changes.js';
import { ScimError } from './scim.errors.js';

const patch = (...Operations: object[]): { Operations: object[] } => ({ Operations });

/** Members named by numbers are users; those of a text such as g1 are groups. */
function membersOf(names: readonly string[]): GroupMembers {
  const all = names.map((name) =>
    name.startsWith('g')
      ? ({ type: 'Group', value: name.slice(1) } as const)
      : ({ type: 'User', value: name } as const),
  );
  return new Map(all.map((one) => [memberKey(one), one]));
}

function members(before: readonly string[], ...operations: object[]): string[] | undefined {
  const change = patchedGroup(patch(...operations)).members;
  const after = membersOf(before);
  change?.(after);
  return (
    change && [...after.values()].map(({ type, value }) => (type === 'Group' ? `g${value}` : value))
  );
}

describe('the changes of a user', () => {
  it('are read by names that ignore case, and without what is not kept', () => {
    expect(
      userOf({
        schemas: [],
        id: '1',
        USERNAME: ' jo ',
        Name: { GivenName: 'Jo', honorificPrefix: 'Dr' },
        title: 'x',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'x' },
        shoeSize: 44,
      }),
    ).toEqual({ userName: 'jo', givenName: 'Jo' });
  });

  it('keep of several addresses the primary one, that of work or the first', () => {
    const work = { type: 'work', value: 'w' };
    expect(userOf({ emails: [{ value: 'a' }, work, { value: 'p', primary: true }] }).email).toBe(
      'p',
    );
    expect(userOf({ emails: [{ value: 'a' }, work] }).email).toBe('w');
    expect(userOf({ emails: [{ value: 'a' }, { value: 'b' }] }).email).toBe('a');
    expect(userOf({ emails: [] }).email).toBeNull();
  });

  it('are read from paths, with and without filters, and in objects without a path', () => {
    expect(
      patchedUser(
        patch(
          { op: 'Add', path: 'emails[type eq "work"].value', value: 'w' },
          { op: 'Add', path: 'emails[type eq "home"].value', value: 'h' },
          { op: 'replace', value: { 'name.familyName': 'Doe', active: 'True' } },
          {
            op: 'replace',
            path: 'urn:ietf:params:scim:schemas:core:2.0:User:externalId',
            value: 'e',
          },
          { op: 'remove', path: 'phoneNumbers[value eq "1"]' },
        ),
      ),
    ).toEqual({ email: 'w', familyName: 'Doe', active: true, externalId: 'e', phone: null });
    expect(patchedUser(patch({ op: 'remove', path: 'name' }))).toEqual({
      formatted: null,
      givenName: null,
      familyName: null,
    });
  });

  it.each([
    [{ op: 'remove', path: 'userName' }],
    [{ op: 'replace', path: 'active', value: 1 }],
    [{ op: 'replace', path: 'active', value: [true] }],
    [{ op: 'replace', path: 'active', value: { value: { toString: 1 } } }],
    [{ op: { toString: 1 }, path: 'active', value: true }],
    [{ op: 'replace', path: 'displayName', value: { a: 1 } }],
    [{ op: 'replace', path: 'displayName', value: 'a\0b' }],
    [{ op: 'replace', path: '', value: 'a' }],
    [{ op: 'replace', path: '__proto__', value: 'a' }],
    [{ op: 'replace', path: '__proto__.x', value: 'a' }],
    [{ op: 'replace', path: 'emails[', value: 'a' }],
    [{ op: 'replace', path: 'emails[type eq].value', value: 'a' }],
    [{ op: 'replace', path: 5, value: 'a' }],
    [{ op: 'replace', path: 'a'.repeat(10_000), value: 'a' }],
    [{ op: 'replace', value: 'a' }],
    [{ value: 'a' }],
  ])('are refused: %j', (operation) => {
    expect(() => patchedUser(patch(operation))).toThrow(ScimError);
  });
});

describe('the changes of a group', () => {
  it('add, remove and replace members in the forms of Entra ID and Okta', () => {
    const value = [{ $ref: null, value: '2' }];
    expect(members(['1'], { op: 'Add', path: 'members', value })).toEqual(['1', '2']);
    expect(members(['1', '2'], { op: 'Remove', path: 'members', value })).toEqual(['1']);
    expect(members(['1', '2'], { op: 'remove', path: 'members[value eq "1"]' })).toEqual(['2']);
    expect(
      members(['1', '2', '3'], {
        op: 'remove',
        path: 'members[value eq "1" or value eq "3"]',
      }),
    ).toEqual(['2']);
    expect(members(['1', '2'], { op: 'remove', path: 'members' })).toEqual([]);
    expect(members(['1'], { op: 'replace', path: 'members', value })).toEqual(['2']);
    expect(members(['1'], { op: 'replace', value: { displayName: 'G' } })).toBeUndefined();
    expect(
      members(
        ['1'],
        { op: 'add', path: 'members', value: { value: '2' } },
        { op: 'remove', path: 'members[value eq "1"]' },
      ),
    ).toEqual(['2']);
    const all = membersOf(['1']);
    groupOf({ displayName: 'G', members: [] }).members?.(all);
    expect(all.size).toBe(0);
    expect(members(['1', '2'], { op: 'remove', path: 'members[not (value eq "1")]' })).toEqual([
      '1',
    ]);
  });

  it('tell groups in a group from users by the type or the address (RFC 7643, 4.2)', () => {
    const group = { value: '1', type: 'Group' };
    const add = (value: object): object => ({ op: 'add', path: 'members', value });
    expect(members(['1'], add([group]))).toEqual(['1', 'g1']);
    expect(members([], add({ value: '2', $ref: 'https://a/scim/v2/Groups/2' }))).toEqual(['g2']);
    expect(members([], add({ value: '2', $ref: '../Users/2' }))).toEqual(['2']);
    expect(members([], add({ value: '2', type: 'user' }))).toEqual(['2']);

    const remove = (value: object): object => ({ op: 'remove', path: 'members', value });
    expect(members(['1', 'g1', 'g2'], remove([group]))).toEqual(['1', 'g2']);
    const typed = 'members[type eq "Group" and value eq "1"]';
    expect(members(['1', 'g1'], { op: 'remove', path: typed })).toEqual(['1']);
    // A value without a type names each member that has it.
    expect(members(['1', 'g1', 'g2'], remove([{ value: '1' }]))).toEqual(['g2']);
    const value = 'members[value eq "1"]';
    expect(members(['1', 'g1', 'g2'], { op: 'remove', path: value })).toEqual(['g2']);
  });

  it.each([
    [{ op: 'add', path: 'members', value: [{ value: '1', type: 'Device' }] }],
    [{ op: 'add', path: 'members', value: [{ value: '1', type: 5 }] }],
    [{ op: 'add', path: 'members', value: [1] }],
    [{ op: 'add', path: 'members', value: [{ display: 'x' }] }],
    [{ op: 'add', path: 'members[value eq "1"]', value: [{ value: '2' }] }],
    [{ op: 'remove', path: 'members[value co "1"]' }],
    [{ op: 'remove', path: 'displayName' }],
    [{ op: 'replace', path: 'active', value: true }],
  ])('are refused: %j', (operation) => {
    expect(() => patchedGroup(patch(operation))).toThrow(ScimError);
  });
});
