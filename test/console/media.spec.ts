import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';

describeConsole('the media workspace of the console', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
    // The simulator keeps films at its own address, which the policy of the page allows in the offline demo alone.
    console.expectProblems(/Content Security Policy/);
  });

  afterAll(() => console.close());

  it('makes an image and shows it in the page', async () => {
    const page = await console.signedIn();
    await page.goto('/media');
    await page.getByText('Nothing generated yet').waitFor();
    await page.getByRole('button', { name: 'Generate image' }).click();
    await page.getByText('Describe the image.').waitFor();
    await page.getByLabel('Describe the image').fill('A lighthouse at dusk');
    await page.getByRole('button', { name: 'Generate image' }).click();
    const picture = page.getByRole('img', { name: 'A lighthouse at dusk' });
    await picture.waitFor();
    await page.waitForFunction('document.querySelector("article img")?.naturalWidth > 0');
    await page.getByRole('link', { name: 'Download' }).waitFor();
    await expectNoViolations(page);

    await page.getByRole('navigation').getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('heading', { name: 'Agents' }).waitFor();
    await page.goBack();
    await picture.waitFor();
  });

  it('follows a task, pauses it, keeps its id and goes on, also after a reload', async () => {
    const page = await console.signedIn({ language: 'en', width: 390 });
    await page.goto('/media?kind=video');
    await page.getByRole('combobox', { name: 'Model' }).click();
    await page.getByRole('option', { name: /demo-video-task/ }).click();
    await page.getByLabel('Describe the video').fill('Waves roll onto a beach');
    await page.getByRole('button', { name: 'Generate video' }).click();
    await page.getByText('Task', { exact: true }).waitFor();
    const pause = page.getByRole('button', { name: 'Pause' });
    await pause
      .or(page.getByText('Done', { exact: true }))
      .first()
      .waitFor();
    if (await pause.isVisible()) {
      await pause.click();
      await page.getByText('Paused', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Continue' }).click();
    }
    await page.getByText('Done', { exact: true }).waitFor();
    const elsewhere = page.getByRole('link', { name: 'Open at the provider' });
    expect(await elsewhere.getAttribute('rel')).toContain('noopener');
    await expectNoViolations(page);

    await page.reload();

    await page.getByRole('button', { name: /Show \d+ task/ }).click();
    await page.getByText('Waves roll onto a beach').waitFor();
    const task = /\/media\/(video|prediction)\?/;
    await page.route(task, (route) =>
      route.fulfill({ json: { code: 500, msg: 'The provider is busy.', data: null } }),
    );
    await page.getByRole('button', { name: 'Look up' }).first().click();
    const failure = page.getByText('The provider is busy.');
    await failure.waitFor();
    await page.unroute(task);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(await failure.count()).toBe(0);
    expect(await page.locator('article').count()).toBe(1);
  });
});
