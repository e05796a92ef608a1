import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UserCallers } from '../../../src/identity/index.js';
import { AccessChange } from '../../../src/identity/access/access.change.js';
import { GroupRepository } from '../../../src/identity/group/group.repository.js';
import { SSO_CHECK } from '../../../src/identity/sso/sso.checks.js';
import { CallerResolver } from '../../../src/platform/access/index.js';
import type { Caller } from '../../../src/platform/access/index.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OidcProvider } from '../../support/oidc-provider.js';
import { overrideConstants } from '../../support/override-constants.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Directory } from '../../support/scim.js';
import type { Session } from '../../support/session.js';
import { connectProvider, SsoBrowser } from '../../support/sso.js';
import type { MadeProvider } from '../../support/sso.js';
import { eventually } from '../../support/wait.js';
import { seededRandom } from '../../support/seeded-random.js';

const TENANT = '700060';
const ALL = ['list', 'query', 'add', 'edit', 'remove'].map((action) => `system:group:${action}`);

interface Group {
  readonly groupId: number;
  readonly displayName: string;
  readonly source: string;
  readonly providerName: string | null;
  readonly userCount: number;
  readonly groupCount: number;
  readonly allUserCount: number;
  readonly revision: number;
}

interface Member {
  readonly type: string;
  readonly id: number;
  readonly name: string;
}

interface Entry {
  readonly action: string;
  readonly targetName: string | null;
  readonly detail: Record<string, unknown>;
}

describe('groups', () => {
  let plinth: Plinth;
  let root: Session;
  let admin: Session;
  let people: Person[];

  overrideConstants(SSO_CHECK, { intervalSeconds: 1 });

  beforeAll(async () => {
    plinth = await Plinth.start({ LOGIN_ATTEMPTS_PER_MINUTE: '10000' });
    root = await plinth.signIn();
    ({ admin } = await makeTenant(plinth, root, TENANT));
    people = [];
    for (const name of ['ann', 'bob', 'cleo']) {
      people.push(await makeUser(plinth, admin, name));
    }
  });
  afterAll(() => plinth.stop());

  let named = 0;
  async function makeGroup(displayName = `Group ${(named += 1)}`): Promise<number> {
    return done(await admin.post<number>('/system/group', { displayName })).data;
  }

  async function groupOf(groupId: number): Promise<Group> {
    return done(await admin.get<Group>(`/system/group/${groupId}`)).data;
  }

  async function change(groupId: number, members: object): Promise<void> {
    done(await admin.put('/system/group/member', { groupId, ...members }));
  }

  /** The ids of the groups among the subjects of the user, as the next request has them. */
  async function groupsOf(userId: number, of = plinth): Promise<number[]> {
    const who = { userId, homeTenantId: TENANT, tenantId: TENANT };
    const caller = await of.app.get(UserCallers).find(who);
    return groupIdsIn(caller?.subjects);
  }

  function groupIdsIn(subjects: Caller['subjects'] = []): number[] {
    return subjects
      .filter((subject) => subject.startsWith('group:'))
      .map((subject) => Number(subject.slice('group:'.length)))
      .sort((a, b) => a - b);
  }

  async function audited(targetType: string, targetId: number): Promise<Entry[]> {
    const query = new URLSearchParams({ targetType, targetId: String(targetId) });
    const { rows } = done(await admin.get<Entry[]>(`/monitor/audit/list?${query.toString()}`));
    return rows;
  }

  describe('of this service', () => {
    it('are records with members, which every change audits', async () => {
      const [ann, bob] = people;
      const legal = await makeGroup('Legal');
      const staff = await makeGroup('Staff');
      done(await admin.put('/system/group', { groupId: legal, remark: 'Contracts', revision: 1 }));
      expect(await groupOf(legal)).toMatchObject({ source: 'local', remark: 'Contracts' });
      expect(
        await admin.put('/system/group', { groupId: legal, remark: 'Others', revision: 1 }),
      ).toMatchObject({ code: 409, data: { errorCode: 'REVISION_CONFLICT' } });
      expect(await admin.post('/system/group', { displayName: 'LEGAL' })).toMatchObject({
        code: 409,
        msg: 'The group name LEGAL is taken. Choose another one.',
      });

      await change(legal, { addedUserIds: [ann?.id, bob?.id, bob?.id] });
      await change(staff, { addedGroupIds: [legal] });
      expect(await groupOf(staff)).toMatchObject({ userCount: 0, groupCount: 1, allUserCount: 2 });
      const list = `/system/group/member/list?groupId=${legal}`;
      expect(done(await admin.get<Member[]>(`${list}&pageSize=1&pageNum=2`))).toMatchObject({
        total: 2,
        rows: [{ type: 'user', id: bob?.id, name: 'bob' }],
      });
      expect(done(await admin.get<Member[]>(`${list}&keyword=AN`)).rows).toMatchObject([
        { name: 'ann', source: null },
      ]);
      const inStaff = `/system/group/member/list?groupId=${staff}`;
      expect(done(await admin.get<Member[]>(inStaff)).rows).toMatchObject([
        { type: 'group', id: legal, name: 'Legal', source: 'local' },
      ]);
      const ofAnn = `/system/group/list?userId=${ann?.id}&orderByColumn=displayName&isAsc=desc`;
      const { rows } = done(await admin.get<Group[]>(ofAnn));
      expect(rows.map(({ displayName }) => displayName)).toEqual(['Staff', 'Legal']);

      await change(legal, { removedUserIds: [bob?.id] });
      expect((await audited('user_group', legal)).map(({ action }) => action)).toEqual([
        'permission-change',
        'permission-change',
        'update',
        'create',
      ]);
      expect((await audited('user_group', legal))[0]).toMatchObject({
        targetName: 'Legal',
        detail: { removedUserIds: [bob?.id] },
      });
      done(await admin.delete(`/system/group/${legal},${staff}`));
      expect(await admin.get(`/system/group/${legal}`)).toMatchObject({ code: 404 });
      expect(await groupsOf(ann?.id ?? 0)).toEqual([]);
    });

    it('need the permissions, which administrators of tenants have', async () => {
      const group = await makeGroup();
      const [ann] = people;
      const { session } = await makeUser(plinth, admin, 'reader', [
        await makeRole(admin, 'reader', ['system:group:list']),
      ]);
      done(await session.get('/system/group/list'));
      for (const answer of [
        await session.get(`/system/group/${group}`),
        await session.get(`/system/group/member/list?groupId=${group}`),
        await session.post('/system/group', { displayName: 'Mine' }),
        await session.put('/system/group', { groupId: group, displayName: 'Mine' }),
        await session.put('/system/group/member', { groupId: group, addedUserIds: [ann?.id] }),
        await session.delete(`/system/group/${group}`),
      ]) {
        expect(answer).toMatchObject({ code: 403 });
      }
      const { rows } = done(await admin.get<{ permissions: string[] }[]>('/system/role/list'));
      expect(rows.some(({ permissions }) => ALL.every((one) => permissions.includes(one)))).toBe(
        true,
      );
    });

    it('can be inside of each other, but not inside of themselves nor too deep', async () => {
      const [inner, middle, outer] = [await makeGroup(), await makeGroup(), await makeGroup()];
      await change(outer, { addedGroupIds: [middle] });
      await change(middle, { addedGroupIds: [inner] });
      for (const group of [inner, middle, outer]) {
        const cyclic = { groupId: inner, addedGroupIds: [group] };
        expect(await admin.put('/system/group/member', cyclic)).toMatchObject({
          code: 400,
          msg: expect.stringContaining('cannot be inside of itself'),
        });
      }
      let last = inner;
      for (let level = 4; level <= 10; level += 1) {
        const next = await makeGroup();
        await change(last, { addedGroupIds: [next] });
        last = next;
      }
      const deepest = { groupId: last, addedGroupIds: [await makeGroup()] };
      expect(await admin.put('/system/group/member', deepest)).toMatchObject({
        code: 400,
        msg: expect.stringContaining('at most 10 levels'),
      });
      const around = { groupId: await makeGroup(), addedGroupIds: [outer] };
      expect(await admin.put('/system/group/member', around)).toMatchObject({ code: 400 });
      // The same group twice, and groups side by side, are no further level.
      await change(outer, { addedGroupIds: [middle, await makeGroup()] });
    });

    it('refuse members that do not exist', async () => {
      const group = await makeGroup();
      for (const members of [{ addedUserIds: [987_654] }, { addedGroupIds: [987_654] }]) {
        expect(
          await admin.put('/system/group/member', { groupId: group, ...members }),
        ).toMatchObject({ code: 404 });
      }
    });
  });

  describe('as subjects of a caller', () => {
    it('are there with tenant, user and enabled roles, and follow every change', async () => {
      const role = await makeRole(admin, 'writer', ['system:model:list']);
      const { id: userId, session } = await makeUser(plinth, admin, 'subject', [role]);
      const [inner, outer] = [await makeGroup(), await makeGroup()];
      await change(inner, { addedUserIds: [userId] });
      await change(outer, { addedGroupIds: [inner] });
      const who = { userId, homeTenantId: TENANT, tenantId: TENANT };
      const subjects = async () => (await plinth.app.get(UserCallers).find(who))?.subjects;
      expect(await subjects()).toEqual([
        'tenant',
        `user:${userId}`,
        `role:${role}`,
        `group:${inner}`,
        `group:${outer}`,
      ]);
      done(await admin.put('/system/role/changeStatus', { roleId: role, status: '1' }));
      expect(await subjects()).not.toContain(`role:${role}`);

      // Two ways lead into the outer group: it is left when both have ended.
      await change(outer, { addedUserIds: [userId] });
      await change(inner, { removedUserIds: [userId] });
      expect(await groupsOf(userId)).toEqual([outer]);
      await change(inner, { addedUserIds: [userId] });
      await change(outer, { removedUserIds: [userId] });
      expect(await groupsOf(userId)).toEqual([inner, outer]);
      await change(outer, { removedGroupIds: [inner] });
      expect(await groupsOf(userId)).toEqual([inner]);

      await change(outer, { addedGroupIds: [inner] });
      done(await admin.delete(`/system/group/${inner}`));
      expect(await groupsOf(userId)).toEqual([]);
      expect(await groupOf(outer)).toMatchObject({ groupCount: 0, allUserCount: 0 });

      // A key has the subjects of its owner.
      await change(outer, { addedUserIds: [userId] });
      done(await admin.put('/system/role/changeStatus', { roleId: role, status: '0' }));
      const keys = await makeRole(admin, 'keys', ['system:apikey:add', 'system:apikey:list']);
      done(await admin.put(`/system/user/authRole?userId=${userId}&roleIds=${role},${keys}`));
      const key = withKey(session, await makeKey(session, { permissions: ['chat:chat:use'] }));
      done(await key.get('/system/user/getInfo'));

      done(await admin.delete(`/system/user/${userId}`));
      expect(await groupOf(outer)).toMatchObject({ userCount: 0, allUserCount: 0 });
    });

    it('are those that a walk through the groups finds, after any changes', async () => {
      const groups = plinth.app.get(GroupRepository);
      const accessChange = plinth.app.get(AccessChange);
      const database = plinth.app.get(Database);
      const random = seededRandom(20_261_129);
      const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
      const ids: number[] = [];
      for (let at = 0; at < 12; at += 1) ids.push(await makeGroup());
      const userIds = people.map(({ id }) => id);
      const moves: Record<string, () => Promise<unknown>> = {
        add: () => groups.addMembers(TENANT, [pick(ids), pick(ids)], [pick(userIds)]),
        leave: () => groups.removeMembers(TENANT, [pick(ids)], [pick(userIds), pick(userIds)]),
        nest: () => groups.addChildren(TENANT, pick(ids), [pick(ids)]).catch(() => undefined),
        split: () => groups.removeChildren(TENANT, pick(ids), [pick(ids), pick(ids)]),
      };
      for (let step = 0; step < 150; step += 1) {
        const move = step === 100 ? () => removeTwo() : moves[pick(Object.keys(moves))];
        await accessChange.apply(
          { tenantId: TENANT },
          async () => move?.(),
          () => [],
        );
        if (step % 10 === 9) expect(await stored()).toEqual(await walked());
      }
      expect((await stored()).length).toBeGreaterThan(5);

      async function removeTwo(): Promise<void> {
        await groups.remove(TENANT, ids.splice(3, 2));
      }
      async function pairs(sql: string): Promise<[number, number][]> {
        const rows = await inTenant(TENANT, () =>
          database.query<{ a: number; b: number }>(sql, [TENANT, ids]),
        );
        return rows.map(({ a, b }) => [a, b]);
      }
      async function stored(): Promise<string[]> {
        const rows = await pairs(
          'SELECT group_id AS a, user_id AS b FROM group_membership WHERE tenant_id = $1 AND group_id = ANY ($2)',
        );
        return rows.map(String).sort();
      }
      async function walked(): Promise<string[]> {
        const members = await pairs(
          'SELECT group_id AS a, user_id AS b FROM group_member WHERE tenant_id = $1 AND group_id = ANY ($2)',
        );
        const children = await pairs(
          'SELECT group_id AS a, child_id AS b FROM group_child WHERE tenant_id = $1 AND group_id = ANY ($2)',
        );
        const usersOf = (group: number): number[] => [
          ...members.filter(([one]) => one === group).map(([, user]) => user),
          ...children.filter(([one]) => one === group).flatMap(([, child]) => usersOf(child)),
        ];
        return [
          ...new Set(ids.flatMap((group) => usersOf(group).map((user) => `${group},${user}`))),
        ].sort();
      }
    });
  });

  describe('of a directory', () => {
    let directory: Directory;
    let provider: OidcProvider;
    let staff: number;

    beforeAll(async () => {
      provider = await OidcProvider.start();
      staff = await makeRole(admin, 'staff', ['system:model:list']);
      const permissions = ['system:scim:provision', 'system:model:list'];
      const by = await makeRole(admin, 'directory', permissions);
      const account = { userName: 'directory', roleIds: [by] };
      const { data: userId } = done(await admin.post<number>('/system/user/service', account));
      directory = new Directory(withKey(admin, await makeKey(admin, { userId, permissions })));
      await connectProvider(admin, provider, {
        provisioned: true,
        roleMapping: [{ value: 'Everyone', roleId: staff }],
      });
    });
    afterAll(() => provider.stop());

    let users = 0;
    const makeScimUser = (): Promise<string> => {
      users += 1;
      return directory.make('Users', { userName: `scim${users}`, externalId: `scim-${users}` });
    };
    const makeScimGroup = (displayName: string, members: object[] = []): Promise<string> =>
      directory.make('Groups', { displayName, members });
    const rolesOf = async (userId: string): Promise<number[]> =>
      done(await admin.get<{ roleIds: number[] }>(`/system/user/${userId}`)).data.roleIds;

    it('have users and groups as members, and give the roles of the groups around', async () => {
      const user = await makeScimUser();
      const team = await makeScimGroup('Team', [{ value: user }]);
      const everyone = await makeScimGroup('Everyone', [{ value: team, type: 'Group' }]);
      const { body } = await directory.call('GET', `/Groups/${everyone}`);
      expect(body['members']).toEqual([
        {
          value: team,
          display: 'Team',
          type: 'Group',
          $ref: expect.stringMatching(new RegExp(`/scim/v2/Groups/${team}$`)),
        },
      ]);
      expect(await rolesOf(user)).toEqual([staff]);
      expect(await groupsOf(Number(user))).toEqual([Number(team), Number(everyone)]);
      const { body: shown } = await directory.call('GET', `/Users/${user}?attributes=groups`);
      expect(shown['groups']).toMatchObject([
        { value: team, type: 'direct' },
        { value: everyone, type: 'indirect' },
      ]);
      const filter = `members[value eq "${team}"] and members.type eq "group"`;
      expect((await directory.find('Groups', filter)).body['totalResults']).toBe(1);

      const late = await makeScimUser();
      const add = { op: 'add', path: 'members', value: [{ value: late, type: 'User' }] };
      await directory.patch(`/Groups/${team}`, add);
      expect(await rolesOf(late)).toEqual([staff]);
      // Neither a type nor an address: the group with the id is meant, because no user of it is a member.
      const remove = { op: 'remove', path: `members[value eq "${team}"]` };
      expect(await directory.patch(`/Groups/${everyone}`, remove)).toMatchObject({ status: 204 });
      expect([await rolesOf(user), await rolesOf(late)]).toEqual([[], []]);
      const address = { value: team, $ref: `https://directory.example.com/v2/Groups/${team}` };
      await directory.call('PUT', `/Groups/${everyone}`, { members: [address] });
      expect(await rolesOf(late)).toEqual([staff]);
      await directory.call('DELETE', `/Groups/${team}`);
      expect([await rolesOf(user), await groupsOf(Number(user))]).toEqual([[], []]);
    });

    it('refuse cycles, groups of others and groups that do not exist', async () => {
      const inner = await makeScimGroup('Inner');
      const outer = await makeScimGroup('Outer', [{ value: inner, type: 'Group' }]);
      const local = String(await makeGroup());
      const cases = [
        [inner, outer, 'cannot be inside of itself'],
        [inner, inner, 'cannot be inside of itself'],
        [outer, local, `There is no group ${local} to be a member.`],
        [outer, '0', 'There is no group 0 to be a member.'],
      ] as const;
      for (const [group, value, detail] of cases) {
        const add = { op: 'add', path: 'members', value: [{ value, type: 'Group' }] };
        expect(await directory.patch(`/Groups/${group}`, add)).toMatchObject({
          status: 400,
          body: { scimType: 'invalidValue', detail: expect.stringContaining(detail) },
        });
      }
      expect(await directory.call('GET', `/Groups/${local}`)).toMatchObject({ status: 404 });
      expect(await directory.call('DELETE', `/Groups/${local}`)).toMatchObject({ status: 404 });
    });

    it('are changed in the directory alone, and can be in groups of this service', async () => {
      const user = await makeScimUser();
      const group = Number(await makeScimGroup('Elsewhere', [{ value: user }]));
      for (const answer of [
        await admin.put('/system/group', { groupId: group, displayName: 'Mine' }),
        await admin.put('/system/group/member', { groupId: group, addedUserIds: [Number(user)] }),
        await admin.delete(`/system/group/${group}`),
      ]) {
        expect(answer).toMatchObject({
          code: 409,
          msg: expect.stringContaining('comes from a directory by SCIM. Change it there'),
        });
      }
      const local = await makeGroup('Elsewhere');
      await change(local, { addedGroupIds: [group] });
      expect(await groupsOf(Number(user))).toEqual([group, local]);
      await directory.patch(`/Groups/${group}`, { op: 'remove', path: 'members' });
      expect(await groupsOf(Number(user))).toEqual([]);
    });
  });

  describe('of sign-ins', () => {
    let provider: OidcProvider;
    let made: MadeProvider;

    beforeAll(async () => {
      provider = await OidcProvider.start();
      made = await connectProvider(admin, provider, {
        name: 'Claims',
        scopes: 'openid profile email offline_access',
        groupsClaim: 'groups',
      });
    });
    beforeEach(() => {
      provider.alter = undefined;
    });
    afterAll(() => provider.stop());

    let persons = 0;
    async function signIn(
      groups: unknown,
      more: Record<string, unknown> = {},
      sub = `claimed-${(persons += 1)}`,
    ): Promise<{ sub: string; userId: number; session: Session }> {
      provider.person = { sub, preferred_username: sub, groups, ...more };
      const session = await new SsoBrowser(plinth).signIn(made.publicId);
      const { user } = done(
        await session.get<{ user: { userId: number } }>('/system/user/getInfo'),
      ).data;
      return { sub, userId: user.userId, session };
    }

    async function namesOf(userId: number): Promise<string[]> {
      const ids = await groupsOf(userId);
      const groups = await Promise.all(ids.map(groupOf));
      return groups.map(({ displayName }) => displayName).sort();
    }

    it('are the values of the claim, and go with them', async () => {
      const { sub, userId } = await signIn(['Legal', 'legal', 'Board', 'Board', '', 5]);
      expect(await namesOf(userId)).toEqual(['Board', 'Legal', 'legal']);
      const { rows } = done(await admin.get<Group[]>(`/system/group/list?userId=${userId}`));
      expect(rows[0]).toMatchObject({ source: 'sso', providerName: 'Claims', userCount: 1 });
      const group = rows.find(({ displayName }) => displayName === 'Board')?.groupId ?? 0;
      expect(
        await admin.put('/system/group/member', { groupId: group, removedUserIds: [userId] }),
      ).toMatchObject({
        code: 409,
        msg: expect.stringContaining('comes from the claims of sign-ins'),
      });
      expect(await admin.delete(`/system/group/${group}`)).toMatchObject({ code: 409 });

      const local = await makeGroup();
      await change(local, { addedGroupIds: [group] });
      expect(await groupsOf(userId)).toContain(local);
      await signIn(['Legal', 'Research'], {}, sub);
      expect(await namesOf(userId)).toEqual(['Legal', 'Research']);
      const entries = await audited('user', userId);
      expect(entries.find(({ action }) => action === 'permission-change')).toMatchObject({
        detail: { ssoProvider: made.id, leftGroups: expect.arrayContaining([group]) },
      });
      // The groups stay for grants and for the next user, until an administrator deletes them.
      const another = await signIn(['Board']);
      expect(await groupsOf(another.userId)).toEqual([group, local]);
      await signIn([], {}, another.sub);
      expect(await groupsOf(another.userId)).toEqual([]);
      done(await admin.delete(`/system/group/${group}`));
    });

    it('stay as they are where the list is missing or too long', async () => {
      const { sub, userId } = await signIn(['Kept']);
      await signIn(undefined, { _claim_names: { groups: 'src1' } }, sub);
      expect(await namesOf(userId)).toEqual(['Kept']);
      const many = Array.from({ length: 1_001 }, (_, at) => `many-${at}`);
      await signIn(many, { _claim_names: undefined }, sub);
      expect(await namesOf(userId)).toEqual(['Kept']);
      const unknown = await signIn(many);
      expect(await groupsOf(unknown.userId)).toEqual([]);
      await signIn(['x'.repeat(256), 'Other'], {}, sub);
      expect(await namesOf(userId)).toEqual(['Other']);
      await signIn(many.slice(0, 1_000), {}, sub);
      expect(await groupsOf(userId)).toHaveLength(1_000);
    });

    it('follow the periodic check, where its id token has the claim', async () => {
      const { userId } = await signIn(['Checked', 'Stays']);
      provider.alter = ({ payload }) => {
        payload['groups'] = ['Stays'];
      };
      await eventually(
        () => namesOf(userId),
        (names) => names.join() === 'Stays',
      );
      const refreshes = provider.refreshes;
      provider.alter = ({ payload }) => {
        delete payload['groups'];
      };
      await eventually(
        () => provider.refreshes,
        (count) => count > refreshes + 2,
      );
      expect(await namesOf(userId)).toEqual(['Stays']);
    });

    it('end with the connection, with another claim and with the provider', async () => {
      const { userId } = await signIn(['Ends'], { teams: ['Team'] });
      const second = await signIn(['Ends'], { teams: ['Team'] });
      const [ends = 0] = await groupsOf(userId);
      const local = await makeGroup();
      await change(local, { addedGroupIds: [ends] });
      done(await admin.put('/system/user/disconnect', { userId }));
      expect(await groupsOf(userId)).toEqual([]);
      expect(await groupsOf(second.userId)).toEqual([ends, local]);
      done(await admin.put('/system/sso', { id: made.id, groupsClaim: 'teams' }));
      expect(await groupsOf(second.userId)).toEqual([]);
      expect(await groupOf(ends)).toMatchObject({ displayName: 'Ends', userCount: 0 });
      await signIn(['Ends'], { teams: ['Team'] }, second.sub);
      expect(await namesOf(second.userId)).toEqual(['Team']);
      const [team = 0] = await groupsOf(second.userId);
      await change(local, { addedGroupIds: [team] });
      done(await admin.delete(`/system/sso/${made.id}`));
      expect(await groupsOf(second.userId)).toEqual([]);
      expect(await admin.get(`/system/group/${team}`)).toMatchObject({ code: 404 });
      expect(await groupOf(local)).toMatchObject({ groupCount: 0, allUserCount: 0 });
    });
  });
});

const onServer = process.env['DATABASE_URL'] ? describe : describe.skip;

onServer('groups of two processes on one database', () => {
  it('are taken away with the next call on the other process', async () => {
    const REDIS_PREFIX = `plinth-groups-${process.pid}`;
    const one = await Plinth.start({ REDIS_PREFIX });
    const { DATABASE_URL = '' } = one.app.get<Config>(CONFIG);
    const two = await Plinth.start({ REDIS_PREFIX, DATABASE_URL, DATA_DIR: one.dataDir });
    try {
      const root = await one.signIn();
      const { id: userId, session } = await makeUser(one, root, 'grouped');
      const { data: inner } = done(await root.post<number>('/system/group', { displayName: 'In' }));
      const { data: outer } = done(
        await root.post<number>('/system/group', { displayName: 'Out' }),
      );
      const member = (change: object) => root.put('/system/group/member', change);
      done(await member({ groupId: inner, addedUserIds: [userId] }));
      done(await member({ groupId: outer, addedGroupIds: [inner] }));
      const resolver = two.app.get(CallerResolver);
      const token = session.headers['authorization']?.split('.')[1] ?? '';
      const claims = JSON.parse(Buffer.from(token, 'base64url').toString()) as Parameters<
        CallerResolver['resolve']
      >[0];
      const subjects = async (): Promise<readonly string[]> =>
        (await resolver.resolve(claims))?.subjects ?? [];
      expect(await subjects()).toEqual(
        expect.arrayContaining([`group:${inner}`, `group:${outer}`]),
      );
      done(await member({ groupId: outer, removedGroupIds: [inner] }));
      expect(await subjects()).not.toContain(`group:${outer}`);
      done(await member({ groupId: inner, removedUserIds: [userId] }));
      expect(await subjects()).toEqual(['tenant', `user:${userId}`]);
    } finally {
      await two.stop();
      await one.stop();
    }
  });
});
