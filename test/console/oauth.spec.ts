import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import {
  clickFace,
  Console,
  describeConsole,
  expectClickable,
  expectNoViolations,
} from '../support/console.js';
import { newRequest, registerClient, REDIRECT_URI, sendForm } from '../support/oauth-client.js';
import { done } from '../support/people.js';
import { ADMIN_PASSWORD } from '../support/template.js';

describeConsole('an application that asks for access', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
  });

  afterAll(() => console.close());

  const button = (page: Page, name: string): Locator =>
    page.getByRole('button', { name, exact: true });

  /** The address that an application opens, and what proves its request. */
  async function asking(fields: Readonly<Record<string, string>> = {}) {
    const clientId = await registerClient(console.plinth.anonymous());
    const { request, verifier } = newRequest(clientId, fields);
    const query = new URLSearchParams(request).toString();
    return { clientId, verifier, address: `/oauth/authorize?${query}` };
  }

  /** Where the page leads the browser; nothing listens there. */
  async function answered(page: Page): Promise<URLSearchParams> {
    const landed = page.waitForURL(`${REDIRECT_URI}?*`);
    await page.route(`${REDIRECT_URI}?*`, (route) => route.fulfill({ body: 'Back' }));
    await landed;
    return new URL(page.url()).searchParams;
  }

  it('is connected after the sign-in, with the chosen permissions, and ended among the keys', async () => {
    const { clientId, verifier, address } = await asking();
    const page = await console.visitor();
    await page.goto(address);
    await page.getByRole('textbox', { name: 'User name' }).fill('admin');
    await page.getByLabel('Password', { exact: true }).fill(ADMIN_PASSWORD);
    await button(page, 'Sign in').click();
    await page.getByText('Test editor wants to act for you').waitFor();
    await page.getByText('127.0.0.1:41234').waitFor();
    await expectNoViolations(page);
    expect(await expectClickable(page)).toBeGreaterThan(5);
    await clickFace(page.getByRole('checkbox', { name: 'Decide the approvals of the harness' }));
    await Promise.all([answered(page), button(page, 'Connect').click()]);
    const { searchParams: answer } = new URL(page.url());
    expect(answer.get('state')).toBe('the-state');
    const { status, body } = await sendForm(console.plinth.anonymous(), '/oauth/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: answer.get('code') ?? '',
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
    });
    expect(status).toBe(200);
    expect(body.scope).toContain('coding:harness:use');
    expect(body.scope).not.toContain('coding:harness:approve');

    await page.goto('/account/keys');
    const row = page.getByRole('row').filter({ hasText: 'Test editor' });
    await row.getByText('connected application').waitFor();
    await row.getByText('Active').waitFor();
    await row.getByRole('button', { name: 'Actions' }).click();
    expect(await page.getByRole('menuitem', { name: 'Rotate key' }).count()).toBe(0);
    await page.getByRole('menuitem', { name: 'Revoke key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key', exact: true }).click();
    await row.getByText('Revoked').waitFor();
  });

  it('is refused with the mouse, and told so', async () => {
    const { address } = await asking();
    const page = await console.signedIn();
    await page.goto(address);
    await Promise.all([answered(page), button(page, 'Refuse').click()]);
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
  });

  it('shows what is wrong with its request, and is told when the person goes back', async () => {
    const { address } = await asking({ resource: 'https://evil.example/mcp' });
    const page = await console.signedIn();
    await page.goto(address);
    await page.getByText('asks for access to another service').waitFor();
    expect(await button(page, 'Connect').count()).toBe(0);
    await Promise.all([answered(page), button(page, 'Back to the application').click()]);
    expect(new URL(page.url()).searchParams.get('error')).toBe('invalid_target');

    const { address: other } = await asking({ redirect_uri: 'https://evil.example/' });
    await page.goto(other);
    await page.getByText('is not one of its own').waitFor();
    expect(await button(page, 'Refuse').count()).toBe(0);
  });

  it('cannot show the page in a frame', async () => {
    const { address } = await asking();
    const { headers } = await console.plinth
      .anonymous()
      .raw('GET', address, undefined, { accept: 'text/html' });
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  it('is shown on a narrow screen, in the dark and in Chinese', async () => {
    const folder = process.env['PLINTH_SHOTS'];
    for (const look of [
      { language: 'en', theme: 'light', width: 1440 },
      { language: 'en', theme: 'dark', width: 390 },
      { language: 'zh', theme: 'light', width: 390 },
      { language: 'zh', theme: 'dark', width: 1440 },
    ] as const) {
      const page = await console.signedIn(look);
      await page.goto((await asking()).address);
      await page.getByText('Test editor').first().waitFor();
      await page.getByRole('checkbox').first().waitFor({ state: 'attached' });
      const { scroll, client } = await page.evaluate<{ scroll: number; client: number }>(
        '({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth })',
      );
      expect(scroll).toBe(client);
      if (!folder) continue;
      const { language, theme, width } = look;
      await page.screenshot({
        path: `${folder}/oauth-${language}-${theme}-${width}.png`,
        fullPage: true,
      });
    }
    expect(done(await (await console.plinth.signIn()).get('/system/apikey/list')).code).toBe(200);
  });
});
