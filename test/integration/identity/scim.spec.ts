import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OpenChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { OidcProvider } from '../../support/oidc-provider.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { CORE_GROUP, CORE_USER, Directory, ENTERPRISE } from '../../support/scim.js';
import type { Session } from '../../support/session.js';
import { connectProvider, SsoBrowser } from '../../support/sso.js';
import type { MadeProvider } from '../../support/sso.js';

const SLOW = 'sim--chunks-5000--delay-10';
const TENANT = '700044';
const ME = '/system/user/getInfo';
const STAFF = ['system:model:list', 'system:apikey:add', 'system:apikey:list'];

interface Entry {
  readonly action: string;
  readonly actorName: string | null;
  readonly targetId: string;
  readonly detail: Record<string, unknown>;
}

describe('SCIM 2.0', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let provider: OidcProvider;
  let root: Session;
  let admin: Session;
  let made: MadeProvider;
  let directory: Directory;
  let staff: number;
  let boss: number;

  beforeAll(async () => {
    simulator = await startSimulator();
    provider = await OidcProvider.start();
    plinth = await Plinth.start({ LOGIN_ATTEMPTS_PER_MINUTE: '10000' });
    root = await plinth.signIn();
    ({ admin } = await makeTenant(plinth, root, TENANT));
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    await createModel(admin, { modelName: SLOW, apiHost, apiKey: 'key-one' });
    staff = await makeRole(admin, 'staff', STAFF);
    boss = await makeRole(admin, 'boss', ['system:role:list']);
    const by = await makeRole(admin, 'directory', ['system:scim:provision', ...STAFF]);
    directory = await directoryOf(admin, 'directory', by);
    made = await connectProvider(admin, provider, {
      allowCreate: false,
      provisioned: true,
      groupsClaim: 'groups',
      roleMapping: [
        { value: 'Staff', roleId: staff },
        { value: 'group-of-bosses', roleId: boss },
      ],
    });
  });
  afterAll(async () => {
    await plinth.stop();
    await provider.stop();
    await simulator.close();
  });
  beforeEach(() => {
    simulator.reset();
    provider.alter = undefined;
    provider.userInfo = {};
  });

  /** As docs/OPERATIONS.md says: a service account and a key that opens nothing but this interface. */
  async function directoryOf(by: Session, userName: string, roleId: number): Promise<Directory> {
    const account = { userName, roleIds: [roleId] };
    const { data: userId } = done(await by.post<number>('/system/user/service', account));
    const key = await makeKey(by, {
      userId,
      permissions: ['system:scim:provision', ...STAFF],
      doors: ['scim'],
    });
    return new Directory(withKey(by, key));
  }

  let people = 0;
  function somebody(more: object = {}): { userName: string; externalId: string } {
    people += 1;
    return { userName: `jo${people}@example.com`, externalId: `jo-${people}`, ...more };
  }

  async function audited(action: string, userId: string): Promise<Entry[]> {
    const query = new URLSearchParams({ action, targetType: 'user', targetId: userId });
    const { rows } = done(await admin.get<Entry[]>(`/monitor/audit/list?${query.toString()}`));
    return rows;
  }

  async function rolesOf(userId: string): Promise<number[]> {
    const { data } = done(await admin.get<{ roleIds: number[] }>(`/system/user/${userId}`));
    return data.roleIds;
  }

  async function signIn(sub: string, claims: object = {}): Promise<Session> {
    provider.person = { sub, preferred_username: sub, ...claims };
    return new SsoBrowser(plinth).signIn(made.publicId);
  }

  it('says what it supports', async () => {
    const { status, type, body } = await directory.call('GET', '/ServiceProviderConfig');
    expect({ status, type }).toEqual({
      status: 200,
      type: expect.stringContaining('application/scim+json'),
    });
    expect(body).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      sort: { supported: false },
      etag: { supported: false },
      filter: { supported: true, maxResults: 200 },
    });
    const schemas = await directory.call('GET', '/Schemas');
    expect(schemas.body).toMatchObject({ totalResults: 2 });
    const user = await directory.call('GET', `/Schemas/${CORE_USER}`);
    expect(user.body).toMatchObject({ id: CORE_USER, name: 'User' });
    const types = await directory.call('GET', '/ResourceTypes/Group');
    expect(types.body).toMatchObject({ endpoint: '/Groups', schema: CORE_GROUP });
    expect(await directory.call('GET', '/Schemas/urn:none')).toMatchObject({ status: 404 });
  });

  describe('a user', () => {
    it('is created, found and changed by the requests of Entra ID', async () => {
      // Microsoft Learn: Develop and plan provisioning for a SCIM endpoint in Microsoft Entra ID.
      expect((await directory.find('Users', 'userName eq "Test_User_ab6490ee"')).body).toEqual({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
        totalResults: 0,
        startIndex: 1,
        itemsPerPage: 0,
        Resources: [],
      });
      const created = await directory.call('POST', '/Users', {
        schemas: [CORE_USER, ENTERPRISE],
        externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        userName: 'Test_User_ab6490ee',
        active: true,
        emails: [{ primary: true, type: 'work', value: 'test_user@testuser.com' }],
        meta: { resourceType: 'User' },
        name: { formatted: 'givenName familyName', familyName: 'family', givenName: 'given' },
        roles: [],
        [ENTERPRISE]: { department: 'Sales', manager: 'none' },
      });
      const id = String(created.body['id']);
      expect(created).toMatchObject({
        status: 201,
        location: `${plinth.url}/scim/v2/Users/${id}`,
        body: {
          schemas: [CORE_USER],
          externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
          userName: 'Test_User_ab6490ee',
          displayName: 'givenName familyName',
          name: { formatted: 'givenName familyName', familyName: 'family', givenName: 'given' },
          emails: [{ value: 'test_user@testuser.com', type: 'work', primary: true }],
          active: true,
          meta: { resourceType: 'User', location: `${plinth.url}/scim/v2/Users/${id}` },
        },
      });
      expect(await rolesOf(id)).toEqual([]);
      const found = await directory.find('Users', 'userName eq "test_user_AB6490EE"');
      expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id }] });

      const patched = await directory.patch(
        `/Users/${id}`,
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@microsoft.com' },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
        { op: 'Add', path: 'phoneNumbers[type eq "work"].value', value: '+49 30 1' },
        { op: 'Add', path: 'phoneNumbers[type eq "fax"].value', value: '+49 30 2' },
        { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Development' },
        { op: 'Replace', path: 'displayName', value: 'Given Updated' },
      );
      expect(patched).toMatchObject({
        status: 200,
        body: {
          displayName: 'Given Updated',
          name: { givenName: 'given', familyName: 'updatedFamilyName' },
          emails: [{ value: 'updated@microsoft.com' }],
          phoneNumbers: [{ value: '+49 30 1' }],
        },
      });
      const renamed = await directory.patch(`/Users/${id}`, {
        op: 'Replace',
        path: 'userName',
        value: '5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com',
      });
      expect(renamed.body['userName']).toBe('5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com');
      const removed = await directory.patch(`/Users/${id}`, {
        op: 'Remove',
        path: 'emails[type eq "work"]',
      });
      expect(removed.body['emails']).toBeUndefined();

      const disabled = await directory.patch(`/Users/${id}`, {
        op: 'Replace',
        path: 'active',
        value: 'False',
      });
      expect(disabled.body['active']).toBe(false);
      expect(await directory.call('DELETE', `/Users/${id}`)).toMatchObject({ status: 204 });
      expect(await directory.call('GET', `/Users/${id}`)).toMatchObject({
        status: 404,
        type: expect.stringContaining('application/scim+json'),
        body: { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '404' },
      });
      expect(await audited('create', id)).toMatchObject([{ actorName: 'directory' }]);
      expect(await audited('status-change', id)).toMatchObject([{ detail: { status: '1' } }]);
      expect(await audited('delete', id)).toHaveLength(1);
    });

    it('is created, replaced and disabled by the requests of Okta', async () => {
      // Okta Developer: SCIM 2.0 Protocol Reference.
      const body = {
        schemas: [CORE_USER],
        userName: 'test.user@okta.local',
        name: { givenName: 'Test', familyName: 'User' },
        emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
        displayName: 'Test User',
        locale: 'en-US',
        externalId: '00ujl29u0le5T6Aj10h7',
        groups: [],
        password: '1mz050nq',
        active: true,
      };
      expect(
        (
          await directory.find(
            'Users',
            'userName eq "test.user@okta.local"',
            '&startIndex=1&count=100',
          )
        ).body['totalResults'],
      ).toBe(0);
      const id = await directory.make('Users', body);
      const replaced = await directory.call('PUT', `/Users/${id}`, {
        ...body,
        id,
        name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
        displayName: 'Another User',
        meta: { resourceType: 'User' },
      });
      expect(replaced).toMatchObject({
        status: 200,
        body: { displayName: 'Another User', name: { givenName: 'Another', familyName: 'User' } },
      });
      expect(await directory.call('POST', '/Users', body)).toMatchObject({
        status: 409,
        body: { status: '409', scimType: 'uniqueness' },
      });
      const disabled = await directory.patch(`/Users/${id}`, {
        op: 'replace',
        value: { active: false },
      });
      expect(disabled).toMatchObject({ status: 200, body: { active: false } });
      const enabled = await directory.patch(`/Users/${id}`, {
        op: 'replace',
        value: { active: true },
      });
      expect(enabled.body['active']).toBe(true);
    });

    it('is found by the filters of RFC 7644', async () => {
      const one = somebody({ displayName: 'Filter "One"', emails: [{ value: 'f1@example.com' }] });
      const id = await directory.make('Users', one);
      const other = await directory.make('Users', somebody({ active: false, displayName: 'Fil2' }));
      const ids = async (filter: string): Promise<unknown[]> => {
        const { status, body } = await directory.find('Users', filter);
        expect({ filter, status }).toEqual({ filter, status: 200 });
        return (body['Resources'] as { id: string }[]).map((found) => found.id);
      };
      for (const filter of [
        `id eq "${id}"`,
        `externalId eq "${one.externalId}"`,
        `${CORE_USER}:userName eq "${one.userName}"`,
        'displayName eq "filter \\"one\\""',
        'displayName sw "Filter" and active eq true',
        `active eq "True" and (externalId eq "none" or userName eq "${one.userName}")`,
        'emails[type eq "work" and value eq "f1@example.com"]',
        'emails[type eq "work"].value eq "F1@example.com"',
        `not (displayName ne "Filter \\"One\\"") and emails pr`,
        `emails.value co "f1@" and meta.created gt "2020-01-01T00:00:00Z"`,
      ]) {
        expect([filter, await ids(filter)]).toEqual([filter, [id]]);
      }
      expect(await ids('displayName sw "Fil" and active eq false')).toEqual([other]);
      expect(await ids('externalId eq null')).not.toContain(id);

      const page = await directory.find('Users', 'displayName sw "fil"', '&startIndex=2&count=1');
      expect(page.body).toMatchObject({
        ...{ totalResults: 2, startIndex: 2, itemsPerPage: 1 },
        Resources: [{ id: other }],
      });
      const none = await directory.find('Users', 'displayName sw "fil"', '&count=0');
      expect(none.body).toMatchObject({ totalResults: 2, Resources: [] });
      const all = await directory.call('GET', '/Users?count=100000&startIndex=-5');
      expect(all.body).toMatchObject({ startIndex: 1 });
      const few = await directory.call('GET', `/Users/${id}?attributes=userName`);
      expect(few.body).toEqual({ schemas: [CORE_USER], id, userName: one.userName });
      const without = await directory.call('GET', `/Users/${id}?excludedAttributes=name,emails`);
      expect(Object.keys(without.body)).not.toEqual(expect.arrayContaining(['name', 'emails']));
    });

    it('signs in by the id of the directory, and by it alone', async () => {
      const { userName, externalId } = somebody();
      const id = await directory.make('Users', { userName, externalId });
      // The name and the address are what a person could choose.
      await expect(
        signIn('stranger', { preferred_username: userName, email: userName }),
      ).rejects.toThrow('unknown-user');
      const session = await signIn(externalId);
      expect(done(await session.get<{ user: object }>(ME)).data.user).toMatchObject({
        userId: Number(id),
        userName,
      });
      // Another person with the id, once it was used, is another person.
      await directory.patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: 'taken' });
      await expect(signIn('taken')).rejects.toThrow('unknown-user');
    });

    it('who was there before is not handed to a person of the directory', async () => {
      const { id } = await makeUser(plinth, admin, 'early');
      const adopted = await directory.patch(`/Users/${id}`, {
        op: 'add',
        path: 'externalId',
        value: 'early-1',
      });
      expect(adopted).toMatchObject({ status: 200, body: { externalId: 'early-1' } });
      await expect(signIn('early-1')).rejects.toThrow('unknown-user');
    });

    it('loses sign-ins, open streams and keys at once when it is disabled', async () => {
      const { userName, externalId } = somebody();
      const id = await directory.make('Users', { userName, externalId });
      const [group] = (await directory.find('Groups', 'displayName eq "Staff"')).body[
        'Resources'
      ] as { id: string }[];
      const staffId =
        group?.id ?? (await directory.make('Groups', { displayName: 'Staff', members: [] }));
      await directory.patch(`/Groups/${staffId}`, {
        ...{ op: 'Add', path: 'members', value: [{ $ref: null, value: id }] },
      });
      const session = await signIn(externalId);
      const key = withKey(
        session,
        await makeKey(session, { permissions: ['chat:chat:use', 'system:model:list'] }),
      );
      done(await key.get('/system/model/list'));
      const chat = await OpenChat.send(key, { model: SLOW, content: 'Hello' });
      await chat.until('event');
      await directory.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' });
      // Its answer would take a minute.
      expect((await chat.rest()).error).toMatch(/sign-in|signed|key/);
      expect(await session.get(ME)).toMatchObject({ code: 401 });
      expect(await key.get('/system/model/list')).toMatchObject({ code: 401 });
      await expect(signIn(externalId)).rejects.toThrow('disabled');
    });
  });

  describe('a group', () => {
    it('gives and takes the roles of the mapping, at once and at a sign-in', async () => {
      const person = somebody();
      const id = await directory.make('Users', person);
      const found = await directory.find('Groups', 'displayName eq "Staff"');
      const [before] = found.body['Resources'] as { id: string }[];
      if (before) await directory.call('DELETE', `/Groups/${before.id}`);
      // Entra ID: without members first.
      const created = await directory.call('POST', '/Groups', {
        schemas: [
          CORE_GROUP,
          'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
        ],
        externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
        displayName: 'Staff',
        meta: { resourceType: 'Group' },
      });
      expect(created.status).toBe(201);
      const group = `/Groups/${String(created.body['id'])}`;
      const add = { op: 'Add', path: 'members', value: [{ $ref: null, value: id }] };
      expect(await directory.patch(group, add)).toMatchObject({ status: 204, body: {} });
      expect(await rolesOf(id)).toEqual([staff]);
      expect(await audited('permission-change', id)).toMatchObject([
        { actorName: 'directory', detail: { gave: [staff], took: [] } },
      ]);
      // The provider says nothing of groups, and the sign-in leaves what SCIM has given.
      const session = await signIn(person.externalId);
      expect(done(await session.get<{ roles: string[] }>(ME)).data.roles).toEqual(['staff']);

      const seen = await directory.call('GET', group);
      expect(seen.body).toMatchObject({ members: [{ value: id, display: person.userName }] });
      const hidden = await directory.find(
        'Groups',
        'externalId eq "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159"',
        '&excludedAttributes=members',
      );
      expect(hidden.body).toMatchObject({ totalResults: 1 });
      expect(JSON.stringify(hidden.body)).not.toContain('members');
      const groupId = group.slice('/Groups/'.length);
      const check = await directory.find('Groups', `id eq "${groupId}" and members eq "${id}"`);
      expect(check.body['totalResults']).toBe(1);
      const user = await directory.call('GET', `/Users/${id}?attributes=groups`);
      expect(user.body).toMatchObject({ groups: [{ value: groupId, display: 'Staff' }] });

      // Okta: by a filter. Entra ID: by a value.
      await directory.patch(group, { op: 'remove', path: `members[value eq "${id}"]` });
      expect(await rolesOf(id)).toEqual([]);
      await directory.patch(group, add);
      await directory.patch(group, { op: 'Remove', path: 'members', value: [{ value: id }] });
      expect(await rolesOf(id)).toEqual([]);

      await directory.call('PUT', group, { displayName: 'Staff', members: [{ value: id }] });
      expect(await rolesOf(id)).toEqual([staff]);
      // Okta names the group in the value.
      const rename = { op: 'replace', value: { id: groupId, displayName: 'Others' } };
      expect(await directory.patch(group, rename)).toMatchObject({ status: 204 });
      expect(await rolesOf(id)).toEqual([]);
      await directory.patch(group, { op: 'replace', path: 'displayName', value: 'Staff' });
      expect(await rolesOf(id)).toEqual([staff]);
      expect(await directory.call('DELETE', group)).toMatchObject({ status: 204 });
      expect(await rolesOf(id)).toEqual([]);
      const again = await signIn(person.externalId);
      expect(done(await again.get<{ roles: string[] }>(ME)).data.roles).toEqual([]);
    });

    it('gives no role with a permission that the key lacks, and none to those above it', async () => {
      const id = await directory.make('Users', somebody());
      const bosses = { displayName: 'Bosses', externalId: 'group-of-bosses' };
      expect(
        await directory.call('POST', '/Groups', { ...bosses, members: [{ value: id }] }),
      ).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('system:role:list') },
      });
      expect((await directory.find('Groups', 'displayName eq "Bosses"')).body).toMatchObject({
        totalResults: 0,
      });
      done(await admin.put(`/system/user/authRole?userId=${id}&roleIds=${boss}`));
      for (const refused of [
        await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }),
        await directory.call('PUT', `/Users/${id}`, { displayName: 'New' }),
        await directory.call('DELETE', `/Users/${id}`),
      ]) {
        expect(refused).toMatchObject({ status: 403, body: { status: '403' } });
      }
    });
  });

  describe('refuses', () => {
    it('what is not SCIM, in its own form', async () => {
      const id = await directory.make('Users', somebody());
      const user = `/Users/${id}`;
      const cases = [
        [await directory.find('Users', 'userName eq'), 400, 'invalidFilter'],
        [await directory.find('Users', 'passwordHash pr'), 400, 'invalidFilter'],
        [await directory.find('Users', '('.repeat(900)), 400, 'invalidFilter'],
        [await directory.find('Users', 'userName eq "a\' OR 1=1 --" or'), 400, 'invalidFilter'],
        [await directory.call('GET', '/Users?count=many'), 400, 'invalidValue'],
        [await directory.call('POST', '/Users', {}), 400, 'invalidValue'],
        [await directory.call('POST', '/Users', { userName: 'a b' }), 400, 'invalidValue'],
        [await directory.call('POST', '/Users', { userName: 'x'.repeat(65) }), 400, 'invalidValue'],
        [await directory.call('POST', '/Users', '{"userName":'), 400, 'invalidSyntax'],
        [await directory.call('POST', '/Users', ['a']), 400, 'invalidSyntax'],
        [await directory.call('PUT', user, '"a"'), 400, 'invalidSyntax'],
        [await directory.call('POST', '/Groups', [{}]), 400, 'invalidSyntax'],
        [await directory.call('PATCH', user, { Operations: 1 }), 400, 'invalidSyntax'],
        [await directory.call('PATCH', user, { Operations: ['add'] }), 400, 'invalidSyntax'],
        [await directory.patch(user, { op: 'move', path: 'active' }), 400, 'invalidSyntax'],
        [await directory.patch(user, { op: 'remove' }), 400, 'noTarget'],
        [await directory.patch(user, { op: 'replace', path: 'id', value: '1' }), 400, 'mutability'],
        [await directory.patch(user, { op: 'add', path: 'shoe', value: 1 }), 400, 'invalidPath'],
        [
          await directory.patch(user, { op: 'replace', path: 'active', value: 'maybe' }),
          ...([400, 'invalidValue'] as const),
        ],
        [
          await directory.call('POST', '/Groups', { displayName: 'G', members: [{ value: '0' }] }),
          ...([400, 'invalidValue'] as const),
        ],
        [
          await directory.call('POST', '/Users', { userName: 'big', title: 'x'.repeat(3_000_000) }),
          ...([413, undefined] as const),
        ],
        [await directory.call('GET', '/Bulk'), 404, undefined],
      ] as const;
      for (const [{ status, type, body }, wanted, scimType] of cases) {
        expect({ status, body }).toEqual({
          status: wanted,
          body: {
            schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
            status: String(wanted),
            ...(scimType && { scimType }),
            detail: expect.stringMatching(/\w/),
          },
        });
        expect(type).toContain('application/scim+json');
      }
    });

    it('callers without a key or the permission, and keys for other interfaces', async () => {
      const none = new Directory(plinth.anonymous());
      expect(await none.call('GET', '/Users')).toMatchObject({
        status: 401,
        body: { status: '401', detail: expect.stringContaining('Send a key of Plinth') },
      });
      const { session } = await makeUser(plinth, admin, 'plain', [staff]);
      expect(await new Directory(session).call('GET', '/Users')).toMatchObject({ status: 403 });
      const permissions = ['system:scim:provision'];
      const rest = await makeKey(admin, { permissions, doors: ['rest'] });
      expect(await new Directory(withKey(admin, rest)).call('GET', '/Users')).toMatchObject({
        status: 403,
      });
      const only = withKey(admin, await makeKey(admin, { permissions, doors: ['scim'] }));
      expect(await only.get('/system/user/list')).toMatchObject({ code: 403 });
    });

    it('to show or change super administrators, break-glass users and service accounts', async () => {
      const key = withKey(root, await makeKey(root, { permissions: ['system:scim:provision'] }));
      const home = new Directory(key);
      expect((await home.find('Users', 'userName eq "admin"')).body['totalResults']).toBe(0);
      const { user: self } = done(await root.get<{ user: { userId: number } }>(ME)).data;
      const { id: breakGlass } = await makeUser(plinth, admin, 'glass');
      done(await admin.put('/system/sso/settings', { breakGlassUserIds: [breakGlass] }));
      const service = (
        await admin.get<{ userId: number }[]>('/system/user/list?userName=directory')
      ).rows[0]?.userId;
      for (const [at, id] of [
        [home, self.userId],
        [directory, breakGlass],
        [directory, service],
      ] as const) {
        for (const answer of [
          await at.call('GET', `/Users/${String(id)}`),
          await at.patch(`/Users/${String(id)}`, { op: 'replace', value: { active: false } }),
          await at.call('PUT', `/Users/${String(id)}`, { active: false }),
          await at.call('DELETE', `/Users/${String(id)}`),
        ]) {
          expect(answer.status).toBe(404);
        }
        const members = [{ value: String(id) }];
        expect(await at.call('POST', '/Groups', { displayName: 'Hidden', members })).toMatchObject({
          status: 400,
          body: { scimType: 'invalidValue' },
        });
      }
      done(await admin.put('/system/sso/settings', { breakGlassUserIds: [] }));
    });

    it('to see another tenant', async () => {
      const other = await makeTenant(plinth, root, '700045');
      const role = await makeRole(other.admin, 'directory', ['system:scim:provision', ...STAFF]);
      const elsewhere = await directoryOf(other.admin, 'directory', role);
      const person = somebody();
      const id = await directory.make('Users', person);
      const group = await directory.make('Groups', { displayName: 'Ours', externalId: 'ours' });
      expect((await elsewhere.call('GET', '/Groups')).body['totalResults']).toBe(0);
      expect((await elsewhere.find('Users', `id eq "${id}"`)).body['totalResults']).toBe(0);
      expect(await elsewhere.call('GET', `/Users/${id}`)).toMatchObject({ status: 404 });
      expect(await elsewhere.call('DELETE', `/Groups/${group}`)).toMatchObject({ status: 404 });
      const theirs = { displayName: 'Ours', externalId: 'ours', members: [{ value: id }] };
      expect(await elsewhere.call('POST', '/Groups', theirs)).toMatchObject({ status: 400 });
      // Names and ids of directories are unique in a tenant, not beyond it.
      await elsewhere.make('Users', person);
      await elsewhere.make('Groups', { ...theirs, members: [] });
    });
  });

  it('lets only who may provision say that a provider is provisioned, and by which issuer', async () => {
    const role = await makeRole(admin, 'sso-only', ['system:sso:edit', 'system:sso:list']);
    const { session } = await makeUser(plinth, admin, 'sso-only', [role]);
    const { data } = done(
      await admin.post<number>('/system/sso', {
        ...{ name: 'Second', issuer: provider.url, clientId: 'second' },
      }),
    );
    expect(await session.put('/system/sso', { id: data, provisioned: true })).toMatchObject({
      code: 403,
      msg: expect.stringContaining('system:scim:provision'),
    });
    done(await admin.put('/system/sso', { id: data, provisioned: true }));
    // As it is.
    const same = { issuer: provider.url, provisioned: true };
    done(await session.put('/system/sso', { id: data, name: 'Renamed', ...same }));
    // Its subjects could be the ids of users who have not signed in yet.
    const moved = { id: data, issuer: 'https://login.example.com' };
    for (const fields of [{}, { provisioned: false }]) {
      expect(await session.put('/system/sso', { ...moved, ...fields })).toMatchObject({
        code: 403,
        msg: expect.stringContaining('system:scim:provision'),
      });
    }
    done(await admin.put('/system/sso', moved));
  });
});
