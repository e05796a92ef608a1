import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { CLIENT_ID, CLIENT_SECRET, OidcProvider } from '../support/oidc-provider.js';
import { done, makeRole, makeUser, PASSWORD } from '../support/people.js';

describeConsole('single sign-on', () => {
  let console: Console;
  let provider: OidcProvider;
  let page: Page;

  beforeAll(async () => {
    provider = await OidcProvider.start();
    console = await Console.open();
    await makeRole(await console.plinth.signIn(), 'engineer', ['system:model:list']);
    page = await console.signedIn();
  });

  afterAll(async () => {
    await console.close();
    await provider.stop();
  });

  const button = (name: string, at: Page | Locator = page): Locator =>
    at.getByRole('button', { name, exact: true });
  const dialog = (): Locator => page.getByRole('dialog').last();
  const row = (text: string): Locator => page.getByRole('row').filter({ hasText: text });
  const field = (name: string): Locator => dialog().getByRole('textbox', { name });

  it('adds a provider with a mapping, shows its addresses and tests it', async () => {
    await page.goto('/sso');
    await page.getByText('No providers yet').waitFor();
    await expectNoViolations(page);
    await button('Add provider').click();
    await button('Add provider', dialog()).click();
    await dialog().getByText('Enter a name.').waitFor();
    // It is entered at the provider first, which then gives the client id. A reload does not change it.
    const redirect = await dialog().getByText('/callback').textContent();
    expect(redirect).toContain(`${console.url}/auth/sso/`);
    await field('Name').fill('Company');
    page.once('dialog', (leaving) => void leaving.accept());
    await page.reload();
    await button('Add provider').click();
    await dialog().getByText('What you typed earlier').waitFor();
    expect(await dialog().getByText('/callback').textContent()).toBe(redirect);
    await field('Name').fill('Company');
    await field('Issuer').fill(provider.url);
    await field('Client id').fill(CLIENT_ID);
    await dialog().getByLabel('Client secret', { exact: true }).fill(CLIENT_SECRET);
    await dialog().getByRole('switch', { name: 'Create users' }).check();
    await field('Claim with the groups').fill('groups');
    await button('Add group', dialog()).click();
    await field('Group 1').fill('staff');
    await dialog().getByRole('combobox', { name: 'Role of group 1' }).click();
    await page.getByRole('option', { name: 'engineer' }).click();
    await expectNoViolations(page);
    await button('Add provider', dialog()).click();
    await row('Company').getByText('1 group').waitFor();

    await row('Company').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit provider' }).click();
    await dialog()
      .getByText(redirect ?? '')
      .waitFor();
    expect(await field('Group 1').inputValue()).toBe('staff');
    await page.keyboard.press('Escape');

    await row('Company').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Test connection' }).click();
    await dialog().getByText('Client id and secret are right.').waitFor();
    await expectNoViolations(page);
    await button('Close', dialog()).click();
  });

  it('signs in with the provider and opens the page that was asked for', async () => {
    provider.person = { sub: 'nora', preferred_username: 'nora', groups: ['staff'] };
    const visitor = await console.visitor();
    await visitor.goto('/models');
    const link = visitor.getByRole('link', { name: 'Sign in with Company' });
    await link.waitFor();
    await expectNoViolations(visitor);
    await link.click();
    await visitor.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    expect(new URL(visitor.url()).hash).toBe('');
    await visitor.getByRole('button', { name: 'Account of nora' }).click();
    await visitor.getByRole('menuitem', { name: 'Sign out' }).click();
    // By way of the provider, which ends its session too.
    await link.waitFor();
  });

  it('connects a user who has a password, and says why that is refused', async () => {
    const admin = await console.plinth.signIn();
    await makeUser(console.plinth, admin, 'settled', []);
    // The one who has signed in before is another user here.
    const own = await console.signedIn({ user: { name: 'settled', password: PASSWORD } });
    await own.goto('/account');
    const section = own.getByRole('region', { name: 'Single sign-on' });
    const drawer = own.getByRole('dialog');
    const password = drawer.getByLabel('Current password', { exact: true });
    const connect = async (text: string): Promise<void> => {
      await button('Connect Company', section).click();
      await password.fill(text);
      await button('Continue to Company', drawer).click();
    };
    await connect(PASSWORD);
    await section.getByRole('alert').getByText('already signs in another user').waitFor();
    provider.person = { sub: 'settled', preferred_username: 'settled', groups: [] };
    await connect('not-the-password');
    await drawer.getByRole('alert').getByText('The password is wrong.').waitFor();
    await expectNoViolations(own);
    await password.fill(PASSWORD);
    await button('Continue to Company', drawer).click();
    await section.getByText('Connected', { exact: true }).waitFor();
    await expectNoViolations(own);

    const visitor = await console.visitor();
    await visitor.goto('/account');
    await visitor.getByRole('link', { name: 'Sign in with Company' }).click();
    await visitor.getByRole('button', { name: 'Account of settled' }).waitFor();

    await button('Disconnect Company', section).click();
    await button('Disconnect Company', drawer).click();
    await drawer.getByText('Enter your current password.').waitFor();
    await expectNoViolations(own);
    await password.fill(PASSWORD);
    await button('Disconnect Company', drawer).click();
    await button('Connect Company', section).waitFor();
    await own.getByText('Company is disconnected.').waitFor();
    // Its sign-in with the provider has ended.
    await visitor.reload();
    await visitor.getByRole('link', { name: 'Sign in with Company' }).waitFor();
  });

  it('lets an administrator disconnect a user, whose sign-ins with the provider end', async () => {
    provider.person = { sub: 'nora', preferred_username: 'nora', groups: ['staff'] };
    const visitor = await console.visitor();
    await visitor.goto('/models');
    const link = visitor.getByRole('link', { name: 'Sign in with Company' });
    await link.click();
    await visitor.getByRole('button', { name: 'Account of nora' }).waitFor();

    await page.goto('/users');
    await row('nora').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Disconnect from single sign-on' }).click();
    await expectNoViolations(page);
    await button('Disconnect user', dialog()).click();
    await page.getByText('The user is disconnected.').waitFor();

    await visitor.reload();
    await link.waitFor();
  });

  it('says why a sign-in was refused, in the language of the page', async () => {
    provider.refuses = 'access_denied';
    const visitor = await console.visitor({ language: 'zh' });
    await visitor.goto('/sign-in');
    await visitor.getByRole('link', { name: '使用 Company 登录' }).click();
    await visitor.getByRole('alert').getByText('登录提供方拒绝了登录。').waitFor();
    await expectNoViolations(visitor);
    provider.refuses = undefined;
    await visitor.goto('/sign-in?ssoError=something-else#sso=not-a-code');
    await visitor.getByRole('alert').getByText('此次登录已过期或已被使用。').waitFor();
  });

  it('says what to enter at a directory, and marks its provider', async () => {
    await page.goto('/sso');
    const section = page.getByRole('region', { name: 'Provisioning (SCIM)' });
    await section.getByText(`${console.url}/scim/v2`).waitFor();
    await section.getByText('take externalId from objectId').waitFor();
    await row('Company').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit provider' }).click();
    await dialog().getByRole('switch', { name: 'Users and groups come by SCIM' }).check();
    await expectNoViolations(page);
    await button('Save provider', dialog()).click();
    await page.getByText('The provider is saved.').waitFor();
    const root = await console.plinth.signIn();
    const { rows } = done(await root.get<{ provisioned: boolean }[]>('/system/sso/list'));
    expect(rows).toMatchObject([{ provisioned: true }]);
    await section.getByRole('link', { name: 'Add a service account and its key' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
  });

  it('turns password sign-in off and leaves it to break-glass users', async () => {
    await page.goto('/sso');
    const passwords = page.getByRole('switch', { name: 'Users can sign in with a password' });
    await passwords.uncheck();
    await page.getByRole('combobox', { name: 'Break-glass users' }).click();
    await page.getByRole('option', { name: 'admin' }).click();
    await page.keyboard.press('Escape');
    await button('Save password sign-in').click();
    await page.getByText('Password sign-in is saved.').waitFor();
    const visitor = await console.visitor();
    await visitor.goto('/sign-in');
    await visitor.getByRole('link', { name: 'Sign in with Company' }).waitFor();
    expect(await visitor.getByRole('textbox', { name: 'User name' }).count()).toBe(0);
    await visitor.getByRole('button', { name: 'Sign in with a password' }).click();
    await visitor.getByRole('textbox', { name: 'User name' }).waitFor();
    const root = await console.plinth.signIn();
    done(await root.put('/system/sso/settings', { passwordLogin: true }));
  });
});
