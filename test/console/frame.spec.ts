import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { ADMIN_PASSWORD } from '../support/template.js';

describeConsole('the frame of the console', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
  });

  afterAll(() => console.close());

  it('lets a user sign in and keeps the sign-in after a reload', async () => {
    const page = await console.visitor();
    await page.goto('/');
    await page.locator('input[name=username], input[autocomplete=username]').fill('admin');
    await page.locator('input[type=password]').fill(ADMIN_PASSWORD);
    await expectNoViolations(page);
    await page.locator('button[type=submit]').click();
    await page.locator('nav').first().waitFor();

    await page.reload();

    await page.locator('nav').first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
  });

  it('answers its page at an address that no route answers', async () => {
    const page = await console.signedIn({ theme: 'dark' });
    const answer = await page.goto('/account');

    expect(answer?.status()).toBe(200);
    expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'");
    await page.locator('nav').first().waitFor();
    await expectNoViolations(page);
  });

  it('leaves unknown addresses to the API for clients that read no HTML', async () => {
    const { text } = await console.plinth.anonymous().raw('GET', '/account');

    expect(JSON.parse(text)).toMatchObject({ code: 404, msg: 'There is no GET /account.' });
  });
});
