import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AuditLog } from '../../../src/platform/audit/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { Plinth } from '../../support/plinth.js';
import { done } from '../../support/people.js';
import type { Session } from '../../support/session.js';

interface Entry {
  id: number;
  actorId: number | null;
  actorName: string | null;
  action: string;
  targetType: string;
  targetId: string | null;
  targetName: string | null;
  detail: Record<string, unknown>;
  ip: string | null;
  requestId: string | null;
  createTime: string;
}

describe('the audit log', () => {
  let plinth: Plinth;
  let admin: Session;
  let database: Database;
  let audit: AuditLog;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    database = plinth.app.get(Database);
    audit = plinth.app.get(AuditLog);
  });

  afterAll(async () => {
    await plinth.stop();
  });

  async function list(query: string): Promise<Entry[]> {
    const answer = await admin.get<Entry[]>(`/monitor/audit/list?${query}`);
    expect(answer).toMatchObject({ code: 200 });
    expect(answer).not.toHaveProperty('data');
    return answer.rows;
  }

  it('says who did what, from where and in which request', async () => {
    const { headers } = await admin.raw('POST', '/system/dict/type', {
      dictName: 'Colours',
      dictType: 'colour',
    });
    const [entry] = await list('targetType=dictionary_type&action=create');
    expect(entry).toMatchObject({
      actorName: 'admin',
      action: 'create',
      targetType: 'dictionary_type',
      detail: { dictType: 'colour' },
      requestId: headers['x-request-id'],
    });
    expect(entry?.ip).toMatch(/127\.0\.0\.1$/);
    expect(entry?.createTime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });

  it('names a knowledge base only while it is shared', async () => {
    for (const [share, targetName] of [
      [0, null],
      [1, 'Handbook 1'],
    ]) {
      done(await admin.post('/system/info', { name: `Handbook ${share}`, share }));
      const [entry] = await list('targetType=knowledge_base');
      expect(entry).toMatchObject({ action: 'create', targetName });
    }
  });

  it('names records as they are called now, and those that are gone by their id alone', async () => {
    const made = { dictName: 'Sizes', dictType: 'size' };
    done(await admin.post('/system/dict/type', made));
    const [{ targetId } = { targetId: null }] = await list('targetType=dictionary_type');
    const named = async (): Promise<unknown[]> =>
      (await list(`targetType=dictionary_type&targetId=${targetId}`)).map((one) => one.targetName);
    expect(await named()).toEqual(['Sizes']);
    const renamed = { ...made, dictId: targetId, dictName: 'Measures' };
    done(await admin.put('/system/dict/type', renamed));
    expect(await named()).toEqual(['Measures', 'Measures']);
    done(await admin.delete(`/system/dict/type/${targetId}`));
    expect(await named()).toEqual([null, null, null]);
    await audit.record({ tenantId: '000000' }, { action: 'update', target: 'role', id: 'x' });
    expect(await list('targetId=x')).toMatchObject([{ targetName: null }]);

    const acme = { providerName: 'Acme', providerCode: 'acme' };
    const { id } = done(await admin.post<{ id: number }>('/system/provider', acme)).data;
    const ofProvider = `targetType=provider&targetId=${id}`;
    expect(await list(ofProvider)).toMatchObject([{ targetName: 'Acme' }]);
    done(await admin.delete(`/system/provider/${id}`));
    expect(await list(ofProvider)).toMatchObject([{ targetName: null }, { targetName: null }]);
  });

  it('is append-only: the database refuses UPDATE and DELETE', async () => {
    await audit.record({ tenantId: '000000' }, { action: 'create', target: 'thing', id: 7 });
    await expect(
      database.query("UPDATE audit_entry SET actor_name = 'nobody' WHERE tenant_id = '000000'"),
    ).rejects.toThrow('audit_entry is append-only');
    await expect(
      database.query("DELETE FROM audit_entry WHERE tenant_id = '000000'"),
    ).rejects.toThrow('audit_entry is append-only');
    expect((await list('targetType=thing')).map((entry) => entry.targetId)).toEqual(['7']);
  });

  it('has no route that changes or deletes an entry', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await admin.call(method, '/monitor/audit/1', {})).code).toBe(404);
    }
  });

  it('rolls an entry back with the change it tells of', async () => {
    await expect(
      database.transaction(async () => {
        await audit.record({ tenantId: '000000' }, { action: 'delete', target: 'rolled-back' });
        throw new Error('the change failed');
      }),
    ).rejects.toThrow('the change failed');
    expect(await list('targetType=rolled-back')).toEqual([]);
  });

  it('lists the newest first, in pages', async () => {
    for (const id of [1, 2, 3]) {
      await audit.record({ tenantId: '000000' }, { action: 'update', target: 'paged', id });
    }
    const page = await admin.get<Entry[]>('/monitor/audit/list?targetType=paged&pageSize=2');
    expect(page.total).toBe(3);
    expect(page.rows.map((entry) => entry.targetId)).toEqual(['3', '2']);
  });

  it('filters by action, target, actor and time', async () => {
    const actor = { tenantId: '000000', userId: 41, userName: 'Filtered' };
    await audit.record(actor, { action: 'login', target: 'filtered', id: 'a' });
    await audit.record({ tenantId: '000000' }, { action: 'logout', target: 'filtered', id: 'b' });
    const ids = async (query: string): Promise<(string | null)[]> =>
      (await list(`targetType=filtered&${query}`)).map((entry) => entry.targetId);
    expect(await ids('action=login')).toEqual(['a']);
    expect(await ids('targetId=b')).toEqual(['b']);
    expect(await ids('actorId=41')).toEqual(['a']);
    expect(await ids('actorName=filt')).toEqual(['a']);
    expect(await ids('actorName=%25')).toEqual([]);
    // Nobody asked over HTTP, so the two have no address.
    expect(await ids('ip=0')).toEqual([]);
    const signIns = await list('action=login&ip=127.0.&targetType=user');
    expect(signIns.length).toBeGreaterThan(0);
    const today = new Date().toISOString().slice(0, 10);
    expect(await ids(`params[beginTime]=${today}&params[endTime]=${today}`)).toEqual(['b', 'a']);
    expect(await ids('params[endTime]=2020-01-01 00:00:00')).toEqual([]);
    expect(await ids('params[beginTime]=2999-01-01 00:00:00')).toEqual([]);
  });

  it('names a time that it cannot read', async () => {
    const wrong = await admin.get('/monitor/audit/list?params[beginTime]=yesterday');
    expect(wrong).toMatchObject({
      code: 400,
      msg: 'params.beginTime must be a time like 2026-01-31 18:30:00, or a day',
    });
    const impossible = await admin.get('/monitor/audit/list?params[beginTime]=2026-13-01');
    expect(impossible).toMatchObject({
      code: 400,
      msg: 'params[beginTime]: there is no 2026-13-01.',
    });
  });

  it('shows a tenant its own entries only, and marks a visiting super administrator', async () => {
    await audit.record({ tenantId: '999999' }, { action: 'create', target: 'foreign' });
    expect(await list('targetType=foreign')).toEqual([]);
    await audit.record(
      { tenantId: '000000', homeTenantId: '999999', userId: 1, userName: 'visitor' },
      { action: 'update', target: 'visited', detail: { changed: ['remark'] } },
    );
    const [entry] = await list('targetType=visited');
    expect(entry?.detail).toEqual({ changed: ['remark'], actorTenantId: '999999' });
  });

  it('stores a name of any length and content', async () => {
    const actor = { tenantId: '000000', userName: `a\0b${'x'.repeat(500)}` };
    await audit.record(actor, { action: 'login-failed', target: 'odd-name' });
    const [entry] = await list('targetType=odd-name');
    expect(entry?.actorName).toBe(`ab${'x'.repeat(62)}`);
    expect(entry?.actorId).toBeNull();
  });

  it('is closed to anonymous callers', async () => {
    expect((await plinth.anonymous().get('/monitor/audit/list')).code).toBe(401);
  });
});
