import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import {
  Console,
  clickFace,
  describeConsole,
  expectClickable,
  expectNoViolations,
} from '../support/console.js';
import { createKnowledge } from '../support/knowledge.js';
import { done, makeRole, makeUser, PASSWORD, roleId } from '../support/people.js';
import { Session } from '../support/session.js';
import { eventually } from '../support/wait.js';

/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);

describeConsole('the pages of administration and the account', () => {
  let console: Console;
  let root: Session;
  let page: Page;

  beforeAll(async () => {
    console = await Console.open();
    root = await console.plinth.signIn();
    page = await console.signedIn();
  });

  afterAll(() => console.close());

  const button = (name: string | RegExp, at: Page | Locator = page): Locator =>
    at.getByRole('button', { name, exact: typeof name === 'string' });
  const dialog = (): Locator => page.getByRole('dialog').last();
  const row = (text: string): Locator => page.getByRole('row').filter({ hasText: text });
  /** Opens the menu of a row and chooses one of its entries. */
  const choose = async (text: string, entry: string): Promise<void> => {
    await row(text).getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: entry }).click();
  };
  const heading = (name: string): Locator => page.getByRole('heading', { level: 1, name });
  const gone = (locator: Locator): Promise<void> => locator.waitFor({ state: 'detached' });

  it('adds a user with a password that is shown once, resets it, disables and deletes them', async () => {
    await page.goto('/users');
    await row('admin').waitFor();
    await expectNoViolations(page);
    await button('Add user').click();
    await dialog().getByRole('textbox', { name: 'User name' }).fill('a b');
    await button('Add user', dialog()).click();
    await dialog().getByText('Enter 2 to 64 characters without spaces.').waitFor();
    await dialog().getByRole('textbox', { name: 'User name' }).fill('admin');
    await button('Add user', dialog()).click();
    // What the service refuses stays in the form.
    await dialog().getByRole('alert').getByText('The user name admin is taken.').waitFor();
    await dialog().getByRole('textbox', { name: 'User name' }).fill('nora');
    await button('Add user', dialog()).click();
    const once = page.getByRole('dialog', { name: 'Pass on the password' });
    const password = await once.locator('code').last().innerText();
    await expectNoViolations(page);
    await button('Close', once).click();
    await row('nora').waitFor();
    await console.plinth.signIn('nora', password);

    await choose('nora', 'Reset password');
    await button('Reset password', dialog()).click();
    const second = await once.locator('code').last().innerText();
    expect(second).not.toBe(password);
    await button('Close', once).click();
    await console.plinth.signIn('nora', second);

    await clickFace(row('nora').getByRole('switch'));
    await button('Disable', dialog()).click();
    await page.getByText('nora is disabled.').waitFor();
    await page.goto('/users?q=nora&status=1');
    await row('nora').waitFor();
    await page.reload();
    await row('nora').waitFor();
    expect(await page.getByRole('row').count()).toBe(2);

    await choose('nora', 'Delete user');
    await button('Delete user', dialog()).click();
    await page.getByText('Nothing matches the filters.').waitFor();
  });

  it('adds an API key without permissions but the chosen one, shows it once, and revokes it', async () => {
    await page.goto('/account');
    await page.getByRole('link', { name: 'Open API keys' }).click();
    await heading('Your API keys').waitFor();
    await page.getByText('No API keys yet').waitFor();
    await button('Add API key').click();
    await button('Add API key', dialog()).click();
    await dialog().getByText('Enter a name.').waitFor();
    await dialog().getByRole('textbox', { name: 'Name' }).fill('Notebook');
    await button('Add API key', dialog()).click();
    await dialog().getByText('Choose at least one permission.').waitFor();
    const boxes = dialog().getByRole('checkbox');
    await boxes.first().waitFor();
    expect(await boxes.count()).toBeGreaterThan(20);
    expect(await dialog().getByRole('checkbox', { checked: true }).count()).toBe(0);
    await button('Expand Chat', dialog()).click();
    await dialog().getByRole('checkbox', { name: 'Send messages' }).check();
    await expectNoViolations(page);
    await button('Add API key', dialog()).click();
    const once = page.getByRole('dialog', { name: 'Your new API key' });
    const key = await once.locator('code').first().innerText();
    await once.getByText(`${console.plinth.url}/v1`, { exact: true }).waitFor();
    await expectNoViolations(page);
    // It is never shown again.
    await page.keyboard.press('Escape');
    await button('I have copied the key', once).click();
    await row('Notebook').getByText('1 permission').waitFor();
    await expectNoViolations(page);

    const program = new Session(console.plinth.url, { authorization: `Bearer ${key}` });
    const me = '/system/user/getInfo';
    expect(done(await program.get(me)).data).toMatchObject({ permissions: ['chat:chat:use'] });
    await choose('Notebook', 'Edit key');
    await button('Expand Chat', dialog()).click();
    await dialog().getByRole('checkbox', { name: 'Send messages' }).uncheck();
    await dialog().getByLabel('Valid until').fill('2099-03-31');
    await button('Save key', dialog()).click();
    await page.getByText('The key is saved.').waitFor();
    await dialog().waitFor({ state: 'detached' });
    await expectClickable(page);
    expect(done(await program.get(me)).data).toMatchObject({ permissions: [] });
    const { rows: keys } =
      await root.get<{ id: number; expireTime: string }[]>('/system/apikey/list');
    expect(keys).toMatchObject([{ expireTime: '2099-03-31 23:59:59' }]);
    // At its beginning the first of May is no longer one of the days.
    done(await root.put('/system/apikey', { id: keys[0]?.id, expireTime: '2099-05-01' }));

    await page.goto('/keys');
    await row('Notebook').getByText('admin').waitFor();
    await choose('Notebook', 'Edit key');
    expect(await dialog().getByLabel('Valid until').inputValue()).toBe('2099-04-30');
    await button('Cancel', dialog()).click();
    await choose('Notebook', 'Revoke key');
    await button('Revoke key', dialog()).click();
    await row('Notebook').getByText('Revoked').waitFor();
    expect(await program.get(me)).toMatchObject({ code: 401 });
  });

  it('adds a service account and a key that acts for it', async () => {
    await page.goto('/keys');
    await button('Add service account').click();
    await dialog().getByRole('textbox', { name: 'User name' }).fill('reports');
    await button('Add service account', dialog()).click();
    await page.getByText('The service account is added.').waitFor();
    await button('Add API key').click();
    await dialog().getByRole('textbox', { name: 'Name' }).fill('Nightly');
    await dialog().getByRole('combobox', { name: 'Owner' }).click();
    await page.getByRole('option', { name: 'reports' }).click();
    await button('Expand Chat', dialog()).click();
    await dialog().getByRole('checkbox', { name: 'Send messages' }).check();
    await button('Add API key', dialog()).click();
    await button('I have copied the key').click();
    await row('Nightly').getByText('service account').waitFor();
  });

  it('shows the refused rows of an import', async () => {
    await page.route('**/system/user/importData', (route) =>
      route.fulfill({
        json: {
          code: 400,
          msg: 'Nothing was imported.',
          data: { rows: [{ row: 3, reason: 'it names a role that does not exist.' }] },
        },
      }),
    );
    await page.goto('/users');
    await button('Import users').click();
    const download = page.waitForEvent('download');
    await button('Download template', dialog()).click();
    expect((await download).suggestedFilename()).toMatch(/\.xlsx$/);
    await dialog()
      .locator('input[type=file]')
      .setInputFiles({
        name: 'users.xlsx',
        mimeType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
        buffer: Buffer.from('PK'),
      });
    await button('Import users', dialog()).click();
    await dialog().getByRole('cell', { name: 'it names a role that does not exist.' }).waitFor();
    await expectNoViolations(page);
    await page.unroute('**/system/user/importData');
  });

  it('edits a role as a tree of permissions and gives it to users', async () => {
    const member = await makeUser(console.plinth, root, 'mia');
    await page.goto('/roles/new');
    await page.getByRole('textbox', { name: 'Name' }).fill('Auditor');
    await page.getByRole('textbox', { name: 'Key' }).fill('auditor');
    await page.getByRole('searchbox', { name: 'Search permissions' }).fill('who changed what');
    await page.getByRole('checkbox', { name: 'See who changed what' }).check();
    await page.getByRole('complementary').getByText('See who changed what').waitFor();
    await expectNoViolations(page);
    await button('Add role').click();
    await heading('Roles').waitFor();
    await button('Auditor').click();
    await page.getByRole('tab', { name: 'Members' }).click();
    await button('Add members').click();
    await dialog().getByLabel('Users', { exact: true }).and(page.locator('input')).fill('mia');
    await page.getByRole('option', { name: 'mia' }).click();
    // Leaving the field closes its list, which lies over the buttons.
    await page.keyboard.press('Tab');
    await button('Add members', dialog()).click();
    await row('mia').waitFor();
    const { data } = await member.session.get<{ permissions: string[] }>('/system/user/getInfo');
    expect(data.permissions).toEqual(['monitor:audit:list']);

    // A change that is not saved is not left behind unasked.
    await page.getByRole('tab', { name: 'Permissions' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Reader');
    await page.getByRole('navigation').getByRole('link', { name: 'Users' }).click();
    await button('Stay on page', dialog()).click();
    // Others change the permissions meanwhile, which the form has not touched.
    const auditor = await roleId(root, 'auditor');
    done(await root.put('/system/role', { roleId: auditor, permissions: ['system:dict:list'] }));
    await button('Save role').click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Someone else has changed this' });
    await conflict.getByText('Their changes, which you keep:').waitFor();
    await button('Apply the choice', conflict).click();
    await button('Save role').click();
    await heading('Reader').waitFor();
    const after = await member.session.get<{ permissions: string[] }>('/system/user/getInfo');
    expect(after.data.permissions).toEqual(['system:dict:list']);
  });

  it('adds a group with users and groups as members, and shows those of other sources', async () => {
    const member = await makeUser(console.plinth, root, 'gina');
    const { status } = await root.raw('POST', '/scim/v2/Groups', { displayName: 'Directory team' });
    expect(status).toBe(201);
    await page.goto('/groups');
    await row('Directory team').getByText('Directory (SCIM)').waitFor();
    await expectNoViolations(page);
    await button('Add group').click();
    await button('Add group', dialog()).click();
    await dialog().getByText('Enter a name.').waitFor();
    await dialog().getByRole('textbox', { name: 'Name' }).fill('Legal');
    await expectNoViolations(page);
    await button('Add group', dialog()).click();
    await page.getByText('The group is added.').waitFor();

    await choose('Legal', 'Members');
    await heading('Legal').waitFor();
    await page.getByText('No members yet').waitFor();
    await button('Add members').first().click();
    await dialog().getByLabel('Users', { exact: true }).and(page.locator('input')).fill('gina');
    await page.getByRole('option', { name: 'gina' }).click();
    await page.keyboard.press('Tab');
    await dialog().getByLabel('Groups', { exact: true }).and(page.locator('input')).fill('Direct');
    await page.getByRole('option', { name: 'Directory team' }).click();
    await page.keyboard.press('Tab');
    await expectNoViolations(page);
    await button('Add members', dialog()).click();
    await row('Directory team').getByText('Group', { exact: true }).waitFor();
    await row('gina').waitFor();
    await expectNoViolations(page);
    const query = `userId=${member.id}`;
    const { rows } = done(await root.get<{ displayName: string }[]>(`/system/group/list?${query}`));
    expect(rows).toMatchObject([{ displayName: 'Legal' }]);

    await choose('gina', 'Remove member');
    await button('Remove member', dialog()).click();
    await gone(row('gina'));
    await page.goto('/groups');
    await choose('Directory team', 'Members');
    await page.getByText('This group comes from a directory by SCIM.').waitFor();
    expect(await button('Add members').count()).toBe(0);
    await page.goto('/groups');
    await choose('Legal', 'Delete group');
    await button('Delete group', dialog()).click();
    await gone(row('Legal'));
  });

  it('hands over a record whose owner is gone', async () => {
    const role = await makeRole(root, 'basekeeper', ['system:info:*']);
    const leaver = await makeUser(console.plinth, root, 'lena', [role]);
    const base = await createKnowledge(leaver.session, { name: 'Left by Lena' });
    done(await root.delete(`/system/user/${leaver.id}`));
    await page.goto('/access?owner=gone');
    await row('Left by Lena').getByText('Owner is gone').waitFor();
    await expectNoViolations(page);
    await choose('Left by Lena', 'Access');
    await dialog().getByLabel('Users, roles and groups').and(page.locator('input')).fill('admin');
    await page.getByRole('option', { name: 'admin (user)' }).click();
    await page.keyboard.press('Tab');
    await button('Save access', dialog()).click();
    await gone(row('Left by Lena'));
    done(await root.delete(`/system/info/${base}`));
  });

  it('adds a tenant with its administrator, enters it, stays there after a reload, and deletes it', async () => {
    await page.goto('/tenants');
    await row('000000').waitFor();
    await expectNoViolations(page);
    await button('Add tenant').click();
    await dialog().getByRole('textbox', { name: 'Company' }).fill('Example Ltd');
    await dialog().getByRole('textbox', { name: 'Tenant id' }).fill('424242');
    await dialog().getByRole('textbox', { name: 'User name' }).fill('boss');
    await button('Add tenant', dialog()).click();
    const once = page.getByRole('dialog', { name: /^Pass on the password/ });
    const password = await once.locator('code').last().innerText();
    await button('Close', once).click();
    await console.plinth.signIn('boss', password, '424242');
    const other = await page.context().newPage();
    await other.goto('/users');
    await other.getByRole('row').filter({ hasText: 'admin' }).waitFor();

    await choose('Example Ltd', 'Enter tenant');
    await page.getByText('You now work in this tenant.').waitFor();
    // The switch applies to the sign-in, and so to every tab.
    await other.getByRole('row').filter({ hasText: 'boss' }).waitFor();
    await button(/^Account of admin/, other)
      .getByText('424242')
      .waitFor();
    await other.close();
    await page.goto('/users');
    await row('boss').waitFor();
    await page.reload();
    await row('boss').waitFor();
    await page.goto('/tenants');
    await choose('Default', 'Enter tenant');
    await page.getByText('You now work in this tenant.').waitFor();
    await page.goto('/tenants');
    await choose('Example Ltd', 'Delete tenant');
    const remove = button('Delete tenant', dialog());
    expect(await remove.isDisabled()).toBe(true);
    await dialog().getByRole('textbox').fill('Example Ltd');
    await remove.click();
    await gone(row('Example Ltd'));
  });

  it('lists clients with their switches, and dictionary entries beside their types', async () => {
    await page.goto('/clients');
    await row('In use here').waitFor();
    await expectNoViolations(page);
    await button('web').click();
    await clickFace(dialog().getByRole('switch', { name: 'Failures in the text' }));
    await expectNoViolations(page);
    await button('Save client', dialog()).click();
    await row('web').getByText('thinking, sources', { exact: true }).waitFor();

    await page.goto('/dictionary?type=sys_user_sex');
    await row('Female').waitFor();
    await expectNoViolations(page);
    await button('Add entry').click();
    await dialog().getByRole('textbox', { name: 'Label' }).fill('Other');
    await dialog().getByRole('textbox', { name: 'Value' }).fill('9');
    await button('Add entry', dialog()).click();
    await choose('Other', 'Delete entry');
    await button('Delete entry', dialog()).click();
    await gone(row('Other'));

    const chinese = await console.signedIn({ language: 'zh' });
    await chinese.goto('/dictionary?type=sys_user_sex');
    await chinese.getByRole('heading', { name: '性别' }).waitFor();
    await chinese.getByRole('row', { name: '未说明' }).waitFor();
    await chinese.getByRole('button', { name: '模型类别' }).waitFor();
    await chinese.context().close();
  });

  it('ends the sign-in of another user', async () => {
    const guest = await makeUser(console.plinth, root, 'guest');
    await page.goto('/sign-ins?q=guest');
    await row('guest').waitFor();
    await expectNoViolations(page);
    await choose('guest', 'End sign-in');
    await button('End sign-in', dialog()).click();
    await gone(row('guest'));
    expect(await guest.session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });

  it('shows what happened as a timeline with the change, and the two logs', async () => {
    const roleId = await makeRole(root, 'changed', ['system:model:list']);
    done(await root.put('/system/role', { roleId, permissions: ['system:dict:list'] }));
    await page.goto(`/audit?kind=role&record=${roleId}`);
    await button(new RegExp(`changed the permissions of role changed \\(${roleId}\\)`)).click();
    const change = page.getByRole('list', { name: 'Change' });
    expect(await change.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringContaining('system:model:list'),
      expect.stringContaining('system:dict:list'),
    ]);
    await expectNoViolations(page);
    await page.getByRole('tab', { name: 'Operation log' }).click();
    await row('Permissions changed').first().waitFor();
    await page.getByRole('tab', { name: 'Sign-in log' }).click();
    await row('Done').first().waitFor();
    await expectNoViolations(page);
  });

  it('folds the filters of a list on a phone, and says how many are set', async () => {
    const phone = await console.signedIn({ width: 390 });
    await phone.goto('/audit');
    const kind = phone.getByRole('combobox', { name: 'Any kind of record' });
    await phone.getByRole('searchbox', { name: 'User' }).waitFor();
    expect(await kind.isVisible()).toBe(false);
    await phone.getByRole('button', { name: 'Filters', exact: true }).click();
    await kind.click();
    await phone.getByRole('option', { name: 'role', exact: true }).click();
    const filters = phone.getByRole('button', { name: 'Filters, 1 set' });
    await filters.waitFor();
    await expectNoViolations(phone);
    await filters.click();
    await kind.waitFor({ state: 'hidden' });
    // What is done with the whole list is no filter.
    const { rows: bases } = await root.get<{ id: number }[]>('/system/info/list');
    await phone.goto(`/knowledge/${bases[0]?.id}`);
    await phone.getByRole('button', { name: 'Parse all again' }).waitFor();
    await phone.goto('/models?provider=ollama');
    await filters.waitFor();
    await phone.setViewportSize({ width: 1440, height: 900 });
    await phone.getByRole('searchbox', { name: 'Provider code' }).waitFor();
    await filters.waitFor({ state: 'hidden' });
    await phone.context().close();
  });

  it('shows a vote with question and answer, and makes a test query of it', async () => {
    const { rows: bases } = await root.get<{ id: number; name: string }[]>('/system/info/list');
    await page.route('**/chat/feedback/list?*', (route) =>
      route.fulfill({
        json: {
          code: 200,
          msg: 'Done.',
          total: 1,
          rows: [
            {
              id: 1,
              userId: 1,
              userName: 'jo',
              messageId: '2',
              vote: 'down',
              text: 'Two years.',
              agentId: null,
              modelName: 'demo-chat',
              question: 'How long is the warranty?',
              answer: 'One year [1].',
              sources: [
                { number: 1, cited: true, knowledgeId: bases[0]?.id, document: 'a.md', page: 2 },
              ],
              createTime: '2026-01-31 10:00:00',
              updateTime: '2026-01-31 10:00:00',
            },
          ],
        },
      }),
    );
    const asked: unknown[] = [];
    await page.route('**/chat/feedback/1/testQuery', (route) => {
      asked.push(route.request().postDataJSON());
      return route.fulfill({ json: { code: 200, msg: 'Done.', data: { queryId: 'feedback-1' } } });
    });
    await page.goto('/feedback');
    await button('How long is the warranty?').click();
    await dialog().getByText('One year [1].').waitFor();
    await expectNoViolations(page);
    await button('Make a test query', dialog()).click();
    await button('Make test query', dialog()).click();
    await dialog().getByRole('status').waitFor();
    expect(asked).toEqual([{ knowledgeId: bases[0]?.id }]);
  });

  it('shows an image, downloads a file and deletes it', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    for (const [name, content] of [
      ['logo.png', png],
      ['notes.txt', Buffer.from('hello')],
    ] as const) {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(content)]), name);
      done(await root.upload('/resource/oss/upload', form));
    }
    await page.goto('/files');
    await button('logo.png').click();
    const image = dialog().getByRole('img', { name: 'logo.png' });
    await image.waitFor();
    await page.waitForFunction(`document.querySelector('img[alt="logo.png"]').naturalWidth === 1`);
    await page.keyboard.press('Escape');
    const download = page.waitForEvent('download');
    await button('notes.txt').click();
    expect((await download).suggestedFilename()).toBe('notes.txt');
    await expectNoViolations(page);
    await choose('notes.txt', 'Delete file');
    await button('Delete file', dialog()).click();
    await gone(row('notes.txt'));
  });

  it('says why a list failed and tries again', async () => {
    await page.route('**/system/role/list?*', (route) =>
      route.fulfill({
        json: { code: 500, msg: 'The database is busy.', data: null },
        headers: { 'X-Request-Id': 'request-7' },
      }),
    );
    await page.goto('/roles');
    await page.getByRole('alert').getByText('The database is busy.').waitFor();
    await page.getByText('request-7').waitFor();
    await page.unroute('**/system/role/list?*');
    await button('Try again').click();
    await row('superadmin').waitFor();
  });

  it('lets users without permissions change only themselves', async () => {
    const { name } = await makeUser(console.plinth, root, 'olga');
    const own = await console.signedIn({ user: { name, password: PASSWORD }, language: 'zh' });
    await own.goto('/users');
    await own.getByRole('alert').getByText('system:user:list').waitFor();
    await own.goto('/account');
    await own.getByRole('textbox', { name: '显示名称' }).fill('Olga');
    await own.getByRole('button', { name: '保存资料' }).click();
    await own.getByText('个人资料已保存。').waitFor();
    await own.reload();
    const account = own.getByRole('button', { name: /Olga/ });
    await account.waitFor();
    const picture = own.locator('input[type=file]');
    const image = { name: 'olga.png', mimeType: 'image/png' };
    await picture.setInputFiles({ ...image, buffer: Buffer.from('A text.') });
    await own.getByRole('alert').getByText('PNG').waitFor();
    await picture.setInputFiles({ ...image, buffer: PNG });
    await own.getByText('头像已保存。').waitFor();
    await eventually(
      () => account.locator('img').evaluate((one: { naturalWidth?: number }) => one.naturalWidth),
      (width) => width === 1,
    );
    await expectNoViolations(own);
    await own.getByRole('button', { name: '移除头像' }).click();
    await own.getByText('头像已移除。').waitFor();
    await account.locator('img').waitFor({ state: 'detached' });
    const other = await console.plinth.signIn(name, PASSWORD);
    await own.getByLabel('当前密码').fill(PASSWORD);
    await own.getByLabel('新密码', { exact: true }).fill('another-pass-1');
    await own.getByLabel('再次输入新密码').fill('another-pass-1');
    console.expectProblems(/ERR_FAILED/);
    const change = '**/system/user/profile/updatePwd';
    await own.route(change, (route) => route.abort());
    await own.getByRole('button', { name: '修改密码' }).click();
    await own.getByRole('alert').getByText('与 Plinth 的连接失败，请检查网络后重试。').waitFor();
    await own.unroute(change);
    await own.getByRole('button', { name: '修改密码' }).click();
    await own.getByText('密码已修改，其他登录会话已结束。').waitFor();
    expect(await other.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    await console.plinth.signIn(name, 'another-pass-1');
  });

  it('says how long records are kept, and places and lifts a legal hold', async () => {
    await makeUser(console.plinth, root, 'petra');
    await page.goto('/');
    await page.getByRole('link', { name: 'Retention' }).click();
    await heading('Retention').waitFor();
    await page.getByLabel('Chats, since their last use').fill('90');
    await page.getByRole('textbox', { name: 'Audit log' }).fill('365');
    await page.getByText('Forbidden', { exact: true }).click();
    const traceContent = page.getByRole('switch', { name: 'Content in traces' });
    await clickFace(traceContent);
    await expectNoViolations(page);
    await button('Save retention').click();
    await page.getByText('The retention is saved.').waitFor();
    await page.reload();
    await page.getByText('Users cannot make chats temporary.').waitFor();
    expect(await page.getByLabel('Chats, since their last use').inputValue()).toBe('90 days');
    expect(await traceContent.isChecked()).toBe(true);

    await button('Place legal hold').click();
    await dialog().getByRole('combobox', { name: 'User name' }).fill('petra');
    await page.getByRole('option', { name: 'petra' }).click();
    await button('Place legal hold', dialog()).click();
    await dialog().getByText('Enter a reason.').waitFor();
    await dialog().getByRole('textbox', { name: 'Reason' }).fill('Proceedings 12/2026');
    await button('Place legal hold', dialog()).click();
    await row('petra').getByText('Proceedings 12/2026').waitFor();
    await expectNoViolations(page);
    await row('petra').getByRole('button', { name: 'Lift hold' }).click();
    await button('Lift hold', dialog()).click();
    await page.getByText('No user is under legal hold.').waitFor();

    await page.goto('/account');
    await page.getByLabel('Chats, since their last use').fill('7');
    await button('Save retention').click();
    await page.getByText('The retention is saved.').waitFor();
    const own = await root.get<{ rules: unknown[] }>('/system/user/profile/retention');
    expect(own.data.rules[0]).toMatchObject({ recordClass: 'chats', days: 7, maxDays: 90 });
    await expectNoViolations(page);
    done(await root.put('/system/user/profile/retention', { rules: [] }));
    const defaults = { rules: [], temporaryChats: 'allowed', traceContent: false };
    done(await root.put('/system/retention', defaults));
  });
});
