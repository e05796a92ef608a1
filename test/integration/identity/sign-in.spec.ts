import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import jwt from 'jsonwebtoken';
import type { Pool } from 'pg';
import { CallerResolver } from '../../../src/platform/access/index.js';
import type { TokenClaims } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { LoginSessionService } from '../../../src/identity/login-session/login-session.service.js';
import { done, makeRole, makeTenant, makeUser, PASSWORD } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const SIGNED_OUT = {
  code: 401,
  msg: 'You are not signed in, or the sign-in has ended. Sign in again.',
  data: null,
};

describe('what ends a sign-in and what changes it', () => {
  let plinth: Plinth;
  let root: Session;
  let database: Database;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
    database = plinth.app.get(Database);
  });
  afterAll(() => plinth.stop());

  const age = (column: string, userId: number, seconds: number) =>
    database.query(
      `UPDATE login_session SET ${column} = now() - make_interval(secs => $2)
        WHERE tenant_id = '000000' AND user_id = $1`,
      [userId, seconds],
    );

  it('refuses a disabled user with the next request, and again after enabling', async () => {
    const { session, id, name } = await makeUser(plinth, root, 'suspended');
    done(await session.get('/system/user/getInfo'));
    done(await root.put('/system/user/changeStatus', { userId: id, status: '1' }));
    expect(await session.get('/system/user/getInfo')).toEqual(SIGNED_OUT);
    done(await root.put('/system/user/changeStatus', { userId: id, status: '0' }));
    expect(await session.get('/system/user/getInfo')).toEqual(SIGNED_OUT);
    await plinth.signIn(name, PASSWORD);
  });

  it('gives and takes permissions with the next request', async () => {
    const lists = await makeRole(root, 'lists', ['system:user:list']);
    const { session, id } = await makeUser(plinth, root, 'fickle');
    const sees = async (): Promise<number> => (await session.get('/system/user/list')).code;
    expect(await sees()).toBe(403);
    done(await root.put(`/system/user/authRole?userId=${id}&roleIds=${lists}`));
    expect(await sees()).toBe(200);
    done(await root.put('/system/role', { roleId: lists, permissions: ['system:user:query'] }));
    expect(await session.get('/system/user/list')).toEqual({
      code: 403,
      msg: 'You need the permission system:user:list. Ask an administrator for it.',
      data: null,
    });
    done(await root.put('/system/role', { roleId: lists, permissions: ['system:user:list'] }));
    expect(await sees()).toBe(200);
    done(await root.put('/system/role/changeStatus', { roleId: lists, status: '1' }));
    expect(await sees()).toBe(403);
    done(await root.put('/system/role/changeStatus', { roleId: lists, status: '0' }));
    expect(await sees()).toBe(200);
    done(await root.put('/system/role/authUser/cancel', { roleId: lists, userId: id }));
    expect(await sees()).toBe(403);
  });

  it('ends after the idle time, and activity renews it once a minute at most', async () => {
    const { session, id } = await makeUser(plinth, root, 'idler');
    const lastActive = async (): Promise<number> => {
      const [row] = await database.query<{ age: number }>(
        `SELECT extract(epoch FROM now() - last_active_time)::float AS age
           FROM login_session WHERE tenant_id = '000000' AND user_id = $1`,
        [id],
      );
      return row?.age ?? -1;
    };
    await age('last_active_time', id, 50);
    done(await session.get('/system/user/getInfo'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await lastActive()).toBeGreaterThan(49);
    await age('last_active_time', id, 1_790);
    done(await session.get('/system/user/getInfo'));
    await eventually(lastActive, (seconds) => seconds < 40);
    await age('last_active_time', id, 1_801);
    expect(await session.get('/system/user/getInfo')).toEqual(SIGNED_OUT);
  });

  it('ends when its time is over', async () => {
    const { session, id } = await makeUser(plinth, root, 'old-timer');
    await age('expire_time', id, 1);
    expect(await session.get('/system/user/getInfo')).toEqual(SIGNED_OUT);
    await plinth.app.get(LoginSessionService).sweep();
    const rows = await database.query(
      `SELECT 1 FROM login_session WHERE tenant_id = '000000' AND user_id = $1`,
      [id],
    );
    expect(rows).toEqual([]);
    expect(await root.get('/system/user/getInfo')).toMatchObject({ code: 200 });
  });

  it('needs an enabled tenant whose time is not over', async () => {
    const { id, admin } = await makeTenant(plinth, root, '161803');
    const login = () => plinth.signIn('boss', PASSWORD, '161803');
    done(await root.put('/system/tenant/changeStatus', { id, status: '1' }));
    expect(await admin.get('/system/user/getInfo')).toEqual(SIGNED_OUT);
    await expect(login()).rejects.toThrow(
      'This tenant is disabled. Ask the operator of this service.',
    );
    done(await root.put('/system/tenant', { id, status: '0', expireTime: '2001-01-01 00:00:00' }));
    expect(await admin.get('/system/user/getInfo')).toEqual(SIGNED_OUT);
    await expect(login()).rejects.toThrow(
      'This tenant has expired. Ask the operator of this service to extend it.',
    );
    done(await root.put('/system/tenant', { id, expireTime: '' }));
    expect(await admin.get('/system/user/getInfo')).toMatchObject({ code: 200 });
  });

  it('keeps the own tenant of the installation open, whatever its row says', async () => {
    await database.query(
      `UPDATE tenant SET status = '1', expire_time = '2001-01-01' WHERE tenant_id = '000000'`,
    );
    expect(await root.get('/system/user/getInfo')).toMatchObject({ code: 200 });
    await plinth.signIn();
    await database.query(
      `UPDATE tenant SET status = '0', expire_time = NULL WHERE tenant_id = '000000'`,
    );
  });

  it('asks the database once for a request whose permissions are known', async () => {
    await root.get('/system/menu/getRouters');
    const { driver } = database.dataSource;
    if (!('master' in driver)) throw new Error('The data source is not connected.');
    // Every statement outside of a transaction takes a connection of its own.
    const asked = jest.spyOn(driver.master as Pool, 'connect');
    // Rounds of the service may ask at the same moment: one request must be seen alone.
    const statements = async (): Promise<number> => {
      asked.mockClear();
      await root.get('/system/menu/getRouters');
      return asked.mock.calls.length;
    };
    expect(await eventually(statements, (count) => count === 1)).toBe(1);
    asked.mockRestore();
  });

  it('refreshes a caller without counting it as activity', async () => {
    const resolver = plinth.app.get(CallerResolver);
    const { session, id } = await makeUser(plinth, root, 'refreshed');
    const token = (session.headers['authorization'] ?? '').slice('Bearer '.length);
    const caller = await resolver.resolve(jwt.decode(token) as TokenClaims);
    if (!caller) throw new Error('The sign-in has no caller.');
    expect(await resolver.refresh(caller)).toEqual(caller);
    await age('last_active_time', id, 1_700);
    await resolver.refresh(caller);
    await age('last_active_time', id, 1_801);
    expect(await resolver.refresh(caller)).toBeUndefined();
  });
});
