import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { done, makeRole, makeUser, PASSWORD } from '../support/people.js';
import { OneTimeCodes } from '../support/second-factor.js';

describeConsole('second factor', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
  });
  afterAll(() => console.close());

  const button = (name: string, at: Page | Locator): Locator =>
    at.getByRole('button', { name, exact: true });

  async function signIn(page: Page, name: string): Promise<void> {
    await page.getByRole('textbox', { name: 'User name' }).fill(name);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await button('Sign in', page).click();
  }

  /** Reads the secret of an enrolment, as one would type it into an app. */
  async function appOf(at: Page | Locator): Promise<OneTimeCodes> {
    await at.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    const secret = await at.getByText(/^[A-Z2-7]{32}$/).textContent();
    return new OneTimeCodes(secret ?? '');
  }

  it('is set up on the account page, asked for at the sign-in, and removed', async () => {
    const admin = await console.plinth.signIn();
    await makeUser(console.plinth, admin, 'mira', []);
    const page = await console.signedIn({ user: { name: 'mira', password: PASSWORD } });
    await page.goto('/account');
    const section = page.getByRole('region', { name: 'Second factor' });
    await button('Add second factor', section).click();
    const dialog = page.getByRole('dialog').last();
    await button('Set up an authenticator app', dialog).click();
    await dialog.getByRole('alert').getByText('Enter your password').waitFor();
    await dialog.getByLabel('Current password', { exact: true }).fill(PASSWORD);
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Phone of Mira');
    await expectNoViolations(page);
    await button('Set up an authenticator app', dialog).click();
    const app = await appOf(dialog);
    await expectNoViolations(page);
    const firstCode = dialog.getByRole('textbox', { name: 'Code that the app shows now' });
    await firstCode.fill(app.wrong());
    await button('Confirm', dialog).click();
    await dialog.getByRole('alert').getByText('The code is wrong.').waitFor();
    await firstCode.fill(app.next());
    await button('Confirm', dialog).click();
    const codes = page.getByRole('list', { name: 'Recovery codes' });
    await codes.waitFor();
    await expectNoViolations(page);
    const recoveryCodes = await codes.getByRole('listitem').allTextContents();
    expect(recoveryCodes).toHaveLength(10);
    await button('I have stored them', page).click();
    await section.getByText('Phone of Mira').waitFor();
    await section.getByText('10 recovery codes left').waitFor();
    await expectNoViolations(page);

    const visitor = await console.visitor();
    await visitor.goto('/account');
    await signIn(visitor, 'mira');
    const code = visitor.getByRole('textbox', { name: 'Code of your authenticator app' });
    await code.fill(app.wrong());
    await expectNoViolations(visitor);
    await button('Sign in', visitor).click();
    await visitor.getByRole('alert').getByText('The second factor is wrong').waitFor();
    await code.fill(app.next());
    await button('Sign in', visitor).click();
    await visitor.getByRole('heading', { level: 1, name: 'Account' }).waitFor();

    const own = visitor.getByRole('region', { name: 'Second factor' });
    await button('Remove Phone of Mira', own).click();
    const drawer = visitor.getByRole('dialog').last();
    await button('Remove', drawer).click();
    await drawer.getByText('Enter your password or a code.').waitFor();
    await drawer
      .getByRole('textbox', { name: 'Or a code of your second factor' })
      .fill(recoveryCodes[0] ?? '');
    await expectNoViolations(visitor);
    await button('Remove', drawer).click();
    await visitor.getByText('Phone of Mira is removed.').waitFor();
  });

  it('is set up at the sign-in where a role requires it, and removed by an administrator', async () => {
    const admin = await console.plinth.signIn();
    const roleId = await makeRole(admin, 'careful', []);
    await makeUser(console.plinth, admin, 'nils', [roleId]);
    const page = await console.signedIn();
    await page.goto(`/roles/${roleId}`);
    await page.getByRole('switch', { name: 'Second factor required' }).check();
    await button('Save role', page).click();
    await page.getByText('The role is saved.').waitFor();

    const visitor = await console.visitor();
    await visitor.goto('/account');
    await signIn(visitor, 'nils');
    await visitor.getByText('Your role requires a second factor').waitFor();
    await expectNoViolations(visitor);
    await button('Set up an authenticator app', visitor).click();
    const app = await appOf(visitor);
    await visitor.getByRole('textbox', { name: 'Code that the app shows now' }).fill(app.next());
    await expectNoViolations(visitor);
    await button('Confirm', visitor).click();
    await button('I have stored them', visitor).click();
    await visitor.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    await visitor.getByText('Authenticator app').first().waitFor();

    await page.goto('/users');
    await page
      .getByRole('row')
      .filter({ hasText: 'nils' })
      .getByRole('button', { name: 'Actions' })
      .click();
    await page.getByRole('menuitem', { name: 'Remove second factor' }).click();
    await button('Remove second factor', page.getByRole('dialog').last()).click();
    await page.getByText('The second factors are removed.').waitFor();
    done(await admin.put('/system/role', { roleId, secondFactor: 'optional' }));
  });

  it('can be a security key, at an address with a domain', async () => {
    const admin = await console.plinth.signIn();
    await makeUser(console.plinth, admin, 'kira', []);
    const page = await console.visitor();
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'usb',
        hasResidentKey: false,
        hasUserVerification: false,
        automaticPresenceSimulation: true,
      },
    });
    const { port } = new URL(console.url);
    await page.goto(`http://localhost:${port}/account`);
    await signIn(page, 'kira');
    const section = page.getByRole('region', { name: 'Second factor' });
    await button('Add second factor', section).click();
    const dialog = page.getByRole('dialog').last();
    await dialog.getByLabel('Current password', { exact: true }).fill(PASSWORD);
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Key ring');
    await button('Set up a security key or passkey', dialog).click();
    await button('I have stored them', page).click();
    await section.getByText('Key ring').waitFor();

    await page.getByRole('button', { name: 'Account of kira' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn(page, 'kira');
    await expectNoViolations(page);
    await button('Use security key or passkey', page).click();
    await page.getByRole('button', { name: 'Account of kira' }).waitFor();
  });
});
