import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import {
  clickFace,
  Console,
  describeConsole,
  expectNoViolations,
  takeShots,
} from '../support/console.js';
import { done } from '../support/people.js';

const KEY = 'key-of-the-company';

describeConsole('search providers', () => {
  let console: Console;
  let service: Server;
  let address: string;
  let page: Page;
  /** The answer of SearXNG without json in its formats, then results (searxng, JSON API). */
  let answersJson = false;

  beforeAll(async () => {
    service = createServer((request, response) => {
      if (!answersJson || request.headers.authorization !== `Bearer ${KEY}`) {
        response.writeHead(403, { 'content-type': 'text/html' }).end('<html>403</html>');
        return;
      }
      const results = [
        {
          url: 'https://example.com/tower',
          title: 'The tower',
          content: 'A tower opens in the harbour.',
          publishedDate: '2026-10-02',
        },
      ];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ query: 'q', results, unresponsive_engines: [] }));
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    console = await Console.open();
    page = await console.signedIn();
  });

  afterAll(async () => {
    await console.close();
    service.closeAllConnections();
    service.close();
  });

  const button = (name: string, at: Page | Locator = page): Locator =>
    at.getByRole('button', { name, exact: true });
  const dialog = (name: string): Locator => page.getByRole('dialog', { name });
  const note = (): Locator => page.getByText('do nothing yet: no search provider is enabled.');
  const openAgentForm = async (): Promise<void> => {
    await page.goto('/agents/new');
    await clickFace(page.getByRole('radio', { name: 'Use tools' }));
    await clickFace(page.getByRole('checkbox', { name: 'web_search' }));
  };

  it('are missed in the form of an agent that is to search the web', async () => {
    page.on('dialog', (leaving) => void leaving.accept());
    await openAgentForm();
    await note().waitFor();
    await expectNoViolations(page);
    await takeShots(page, 'agent-without-provider');
    await page.getByRole('link', { name: 'Search providers' }).last().click();
    const leave = dialog('Leave without saving?');
    await button('Discard changes', leave).click();
    await page.getByText('No search providers yet').waitFor();
    await expectNoViolations(page);
    await takeShots(page, 'search-empty');
  });

  it('are added, tested and enabled, with what to do about a failure', async () => {
    await button('Add search provider', page.locator('main')).last().click();
    const drawer = dialog('Add search provider');
    await button('Add search provider', drawer).click();
    await drawer.getByText('Choose a service.').waitFor();
    await drawer.getByRole('combobox', { name: 'Service' }).click();
    await page.getByRole('option', { name: 'Brave Search' }).click();
    await button('Add search provider', drawer).click();
    await drawer.getByText('Enter the API key.').waitFor();
    await drawer.getByRole('combobox', { name: 'Service' }).click();
    await page.getByRole('option', { name: 'SearXNG' }).click();
    expect(await drawer.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('SearXNG');
    await button('Add search provider', drawer).click();
    await drawer.getByText('Enter the address of your installation.').waitFor();
    await drawer.getByRole('textbox', { name: 'Address' }).fill(address);
    await drawer.getByLabel('API key', { exact: true }).fill(KEY);
    await drawer.getByLabel('Price of one search').fill('0.002');
    await expectNoViolations(page);
    await takeShots(page, 'search-add');
    await button('Add search provider', drawer).click();

    const test = dialog('Test: SearXNG');
    await button('Search', test).click();
    await test.getByRole('alert').getByText('Add json to search.formats').waitFor();
    await expectNoViolations(page);
    answersJson = true;
    await button('Search', test).click();
    await test.getByText('A tower opens in the harbour.').waitFor();
    await expectNoViolations(page);
    await takeShots(page, 'search-test');
    await button('Enable provider', test).click();
    await page.getByText('SearXNG is enabled.').waitFor();
    await page.getByRole('switch', { name: 'SearXNG enabled', checked: true }).waitFor();
    await page.getByText('0.002').waitFor();
    await expectNoViolations(page);
    await takeShots(page, 'search-list');

    await openAgentForm();
    await page.getByRole('checkbox', { name: 'web_search', checked: true }).waitFor();
    expect(await note().count()).toBe(0);
  });

  it('need their key again for another address, and are disabled and deleted', async () => {
    await page.goto('/search-providers');
    await page.getByRole('button', { name: /^SearXNG/ }).click();
    const drawer = dialog('Edit search provider');
    await drawer.getByText('A key is stored.').waitFor();
    await drawer.getByRole('textbox', { name: 'Address' }).fill('https://search.example.com');
    await button('Save search provider', drawer).click();
    await drawer.getByText('Enter the key again').waitFor();
    await drawer.getByRole('textbox', { name: 'Address' }).fill(address);
    await drawer.getByRole('textbox', { name: 'Name' }).fill('Company search');
    await button('Save search provider', drawer).click();
    await page.getByText('The search provider is saved.').waitFor();

    await clickFace(page.getByRole('switch', { name: 'Company search enabled' }));
    await button('Disable', dialog('Disable Company search?')).click();
    await page.getByText('Company search is disabled.').waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: 'Company search' })
      .getByRole('button', { name: 'Actions' })
      .click();
    await page.getByRole('menuitem', { name: 'Delete search provider' }).click();
    const confirm = dialog('Delete search provider');
    await confirm.getByText('This deletes Company search').waitFor();
    await button('Delete search provider', confirm).click();
    await page.getByText('No search providers yet').waitFor();
    const admin = await console.plinth.signIn();
    expect(done(await admin.get<object[]>('/system/search/list')).rows).toEqual([]);
  });

  it('are read in Chinese on a phone', async () => {
    const phone = await console.signedIn({
      language: 'zh',
      theme: 'dark',
      width: 390,
      height: 844,
    });
    await phone.goto('/search-providers');
    await phone.getByText('还没有搜索服务').waitFor();
    await expectNoViolations(phone);
    await phone.getByRole('button', { name: '添加搜索服务' }).first().click();
    await phone.getByRole('dialog', { name: '添加搜索服务' }).waitFor();
    await expectNoViolations(phone);
    await takeShots(phone, 'search-zh');
    await phone.close();
  });
});
