import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { createModel } from '../support/models.js';
import { eventually } from '../support/wait.js';

describeConsole('the test of a model in the console', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
    await createModel(await console.plinth.signIn(), {
      ...{ modelName: 'patient', category: 'chat', providerCode: 'custom_api', apiKey: 'key' },
      apiHost: `${console.simulator.url}/v1`,
    });
  });

  afterAll(() => console.close());

  async function startTest(page: Page): Promise<void> {
    console.simulator.reset();
    console.simulator.script({ text: 'Hello.', hold: true });
    await page.goto('/models?q=patient');
    await page
      .getByRole('row', { name: /patient/ })
      .getByRole('button', { name: 'Actions' })
      .click();
    await page.getByRole('menuitem', { name: 'Test model' }).click();
    await eventually(
      () => console.simulator.held,
      (held) => held === 1,
    );
  }

  const step = (page: Page, name: string) =>
    page.getByRole('dialog').getByRole('listitem').filter({ hasText: name });

  it('shows each step as it happens', async () => {
    const page = await console.signedIn();
    await startTest(page);
    await step(page, 'Connection').getByLabel('Passed').waitFor();
    await step(page, 'Request and key').getByLabel('Running').waitFor();
    expect(await page.getByRole('dialog').getByLabel('Running').count()).toBe(1);
    expect(await page.getByText('The model works').count()).toBe(0);
    await expectNoViolations(page);

    console.simulator.release();

    await page.getByText('The model works').waitFor();
    await step(page, 'Answer').getByLabel('Passed').waitFor();
    await step(page, 'Certificate')
      .getByText('Not used: the address begins with http://.')
      .waitFor();
  });

  it('ends the test when the drawer is closed', async () => {
    const page = await console.signedIn();
    await startTest(page);

    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();

    await eventually(
      () => console.simulator.openConnections(),
      (open) => open === 0,
    );
  });

  it('says that the connection was lost, and tests again', async () => {
    console.expectProblems(/ERR_(CONNECTION|EMPTY|INCOMPLETE|NETWORK)/);
    const page = await console.signedIn();
    await startTest(page);

    console.plinth.app.getHttpServer().closeAllConnections();

    await page.getByRole('dialog').getByRole('alert').waitFor();
    console.simulator.release();
    await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The model works').waitFor();
  });
});
