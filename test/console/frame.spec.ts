import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  Console,
  describeConsole,
  expectClickable,
  expectNoViolations,
} from '../support/console.js';
import { done, makeRole, makeTenant } from '../support/people.js';
import { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

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
    // Who speaks to the page says what the button shows (WCAG 2.5.3).
    const account = page.getByRole('button', { name: /^Account of/ });
    const shown = (await account.locator('p').allInnerTexts()).join(' ');
    expect(shown).not.toBe('');
    expect(await account.getAttribute('aria-label')).toContain(shown);

    // The check that all these suites use finds what is wrong in both themes, and in one.
    await page.evaluate(`document.querySelector('main').insertAdjacentHTML(
      'beforeend', '<button></button><p style="color: var(--mantine-color-dark-6)">Hard to read</p>')`);
    await expect(expectNoViolations(page)).rejects.toThrow(
      /^axe, [^]*light: button-name [^]*dark: color-contrast /,
    );
  });

  it('reaches pages, records and actions from the keyboard', async () => {
    const page = await console.signedIn();
    await page.goto('/');
    await page.locator('nav').first().waitFor();
    const field = page.getByRole('textbox', { name: 'Go to a page or a record' });
    const found = (name: string) =>
      page.getByRole('dialog').getByRole('button', { name, exact: true });
    const look = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await field.fill(text);
    };

    await look('travel');
    await found('travel-policy.md').waitFor();
    await expectNoViolations(page);
    await found('travel-policy.md').click();
    await page.waitForURL(/\/knowledge\/\d+\/documents\/\d+$/);

    await look('admin');
    await found('Administrator').waitFor();
    await found('admin').click();
    await page.waitForURL('**/users?q=admin');

    await look('audit');
    await found('Audit log').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/audit');
    await page.close();
  });

  it('gives the filters of a list the width of a phone, and its menu no hint of a keyboard', async () => {
    const page = await console.signedIn({ width: 390 });
    await page.goto('/audit');
    const place = async (role: 'combobox' | 'searchbox', name: string) => {
      const field = page.getByRole(role, { name, exact: true });
      await field.waitFor();
      const { x = 0, y = 0, width = 0 } = (await field.boundingBox()) ?? {};
      return { y, right: Math.round(x + width) };
    };
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    const who = await place('searchbox', 'User');
    const action = await place('combobox', 'Any action');
    const kind = await place('combobox', 'Any kind of record');
    expect(action.y).toBeGreaterThan(who.y);
    const address = await place('searchbox', 'Address');
    expect(kind).toEqual({ y: action.y, right: address.right });
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow).toBe(0);

    await page.getByRole('button', { name: 'Open menu' }).click();
    await page.getByRole('link', { name: 'Usage' }).waitFor();
    expect(await page.getByText('Ctrl K').isVisible()).toBe(false);
    await page.close();
    const wide = await console.signedIn();
    await wide.goto('/audit');
    await wide.getByText('Ctrl K').waitFor();
    await wide.close();
  });

  it('keeps what is typed where a load in the background fails', async () => {
    const role = await makeRole(await console.plinth.signIn(), 'half-written', []);
    const page = await console.signedIn();
    for (const [address, label, ...loads] of [
      [`/roles/${role}`, 'Name', '/system/user/getInfo', `/system/role/${role}`],
      ['/agents/new', 'Name', '/agent/agent/toolOptions'],
      ['/models/new', 'Model', '/system/provider/list'],
    ] as const) {
      await page.goto(address);
      const field = page.getByRole('textbox', { name: label, exact: true });
      await field.fill('Half written');
      const answered = new Map<string, 'failed' | 'loaded'>();
      const answers = ({ pathname }: URL): boolean => loads.some((load) => load === pathname);
      await page.route(answers, async (route) => {
        const { pathname } = new URL(route.request().url());
        const isFirst = !answered.has(pathname);
        answered.set(pathname, isFirst ? 'failed' : 'loaded');
        if (isFirst) await route.fulfill({ json: { code: 500, msg: 'Broken', data: null } });
        else await route.continue();
      });

      // A window that comes back into sight loads again what is old.
      await page.evaluate('{ const now = Date.now; Date.now = () => now() + 3_600_000; }');
      await eventually(
        () => page.evaluate(`void dispatchEvent(new Event('visibilitychange'))`),
        () => loads.every((load) => answered.get(load) === 'loaded'),
      );

      expect(await field.inputValue()).toBe('Half written');
      await page.unrouteAll({ behavior: 'wait' });
    }
    await page.close();
  });

  /** The service, called with the sign-in of a page. */
  async function signInOf(page: Page): Promise<Session> {
    const kept = String(await page.evaluate(`localStorage.getItem('plinth.session')`));
    const { token, clientId } = JSON.parse(kept) as Record<'token' | 'clientId', string>;
    return new Session(console.url, { authorization: `Bearer ${token}`, clientid: clientId });
  }

  it('keeps unsaved forms when the sign-in ends, over the page and across a reload', async () => {
    const page = await console.signedIn();
    page.on('dialog', (dialog) => void dialog.accept());
    const endSignIn = async (): Promise<void> => {
      done(await (await signInOf(page)).post('/auth/logout'));
    };
    await page.goto('/users');
    await page.getByRole('button', { name: 'Add user' }).click();
    const drawer = page.getByRole('dialog', { name: 'Add user' });
    await drawer.getByRole('textbox', { name: 'User name' }).fill('half-written');
    await endSignIn();
    await drawer.getByRole('button', { name: 'Add user' }).click();
    const over = page.getByRole('dialog', { name: 'Your sign-in has ended' });
    await over.getByText('what you typed is kept').waitFor();
    await expectClickable(page);
    await over.locator('input[type=password]').fill(ADMIN_PASSWORD);
    await over.getByRole('button', { name: 'Sign in', exact: true }).click();
    await over.waitFor({ state: 'detached' });
    await drawer.getByRole('button', { name: 'Add user' }).click();
    await page.getByRole('dialog', { name: 'Pass on the password' }).waitFor();

    await page.goto('/agents/new');
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('Half an agent');
    await endSignIn();
    await page.reload();
    await page.locator('input[autocomplete=username]').fill('admin');
    await page.locator('input[type=password]').fill(ADMIN_PASSWORD);
    await page.locator('button[type=submit]').click();
    await page.getByText('What you typed earlier and did not save').waitFor();
    expect(await name.inputValue()).toBe('Half an agent');
    await page.getByRole('button', { name: 'Discard it' }).click();
    expect(await name.inputValue()).toBe('');
    await page.reload();
    await name.waitFor();
    expect(await name.inputValue()).toBe('');
    await page.close();
  });

  it('offers what was typed for one record to that alone, and what others have changed since', async () => {
    const root = await console.plinth.signIn();
    const page = await console.signedIn();
    page.on('dialog', (dialog) => void dialog.accept());
    const { rows } =
      await root.get<{ id: number; providerName: string }[]>('/system/provider/list');
    const drawer = page.getByRole('dialog', { name: 'Edit provider' });
    const description = drawer.getByRole('textbox', { name: 'Description' });
    const note = drawer.getByText('What you typed earlier and did not save');
    const openAgain = async (place: number): Promise<void> => {
      await page.goto('/providers');
      const name = rows[place]?.providerName ?? '';
      await page.getByRole('button', { name, exact: true }).click();
      await description.waitFor();
    };
    await openAgain(0);
    await description.fill('Typed for the first');
    await openAgain(1);
    expect([await description.inputValue(), await note.count()]).not.toContain(
      'Typed for the first',
    );
    expect(await note.count()).toBe(0);

    const theirs = { providerDesc: 'Their description', remark: 'Their remark' };
    done(await root.put('/system/provider', { id: rows[0]?.id, ...theirs }));
    await openAgain(0);
    await note.waitFor();
    expect(await description.inputValue()).toBe('Typed for the first');
    await drawer.getByRole('button', { name: 'Save provider' }).click();
    const conflict = drawer.getByRole('alert').filter({ hasText: 'Someone else has changed this' });
    await conflict.getByText('Their remark').waitFor();
    await conflict.getByRole('radio', { name: 'Theirs' }).waitFor();
    await page.close();
  });

  it('leaves the page of another tenant when the sign-in ends, and keeps its forms there', async () => {
    const root = await console.plinth.signIn();
    const { tenantId } = await makeTenant(console.plinth, root, '810001');
    const page = await console.signedIn();
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto('/account');
    const inPage = await signInOf(page);
    done(await inPage.get(`/system/tenant/dynamic/${tenantId}`));
    await page.goto('/roles/new');
    await page.getByRole('button', { name: /810001$/ }).waitFor();
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('Role of another tenant');
    await page.getByRole('textbox', { name: 'Key', exact: true }).fill('other');
    done(await inPage.post('/auth/logout'));
    await page.getByRole('button', { name: 'Add role' }).click();

    await page.locator('input[autocomplete=username]').fill('admin');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.locator('input[type=password]').fill(ADMIN_PASSWORD);
    await page.locator('button[type=submit]').click();
    await name.waitFor();
    expect(await name.inputValue()).toBe('');

    done(await (await signInOf(page)).get(`/system/tenant/dynamic/${tenantId}`));
    await page.reload();
    await page.getByText('What you typed earlier and did not save').waitFor();
    expect(await name.inputValue()).toBe('Role of another tenant');
    await page.close();
  });

  it('keeps the menu beside a page that does not exist', async () => {
    const page = await console.signedIn();

    await page.goto('/no/such/page');

    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await page.getByRole('link', { name: 'Knowledge', exact: true }).waitFor();
    await expectNoViolations(page);
    await page.close();
  });

  it('shows its menu without the texts of pages that are not open', async () => {
    const page = await console.signedIn();
    const loaded: string[] = [];
    await page.route('**/assets/texts.en-*.js', async (route) => {
      const response = await route.fetch();
      loaded.push(await response.text());
      await route.fulfill({ response });
    });

    await page.goto('/account');

    await page.getByRole('link', { name: 'Harness', exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Account' }).waitFor();
    expect(loaded.filter((texts) => texts.includes('What others see of you')).length).toBe(1);
    expect(loaded.filter((texts) => texts.includes('decision waiting')).length).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
    await page.close();
  });

  it('offers to reload when a part of it is no longer there, as after an update', async () => {
    console.expectProblems(/palette-/, /dynamically imported module/);
    const page = await console.signedIn();
    await page.route('**/assets/palette-*.js', (route) => route.fulfill({ status: 404 }));
    await page.goto('/account');
    await page.getByRole('heading', { name: 'Account' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('heading', { name: 'Part of the page could not be loaded' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });

    await page.getByRole('button', { name: 'Reload page' }).click();

    await page.getByRole('heading', { name: 'Account' }).waitFor();
    await page.close();
  });

  it('lets a mouse reach every control of every page, also on a phone', async () => {
    const page = await console.signedIn();
    await page.goto('/account');
    await page.getByRole('heading', { level: 1 }).waitFor();
    const paths = await examplePaths(await console.plinth.signIn());
    expect(paths.length).toBeGreaterThan(30);
    for (const path of paths) {
      await open(page, path);
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await expectClickable(page)).toBeGreaterThan(1);
      }
    }
    await page.evaluate(`document.querySelector('main').insertAdjacentHTML(
      'beforeend', '<div style="pointer-events: none"><button>Out of reach</button></div>')`);
    await expect(expectClickable(page)).rejects.toThrow('Out of reach');
    await page.close();
  });

  it('leaves unknown addresses to the API for clients that read no HTML', async () => {
    const { text } = await console.plinth.anonymous().raw('GET', '/account');

    expect(JSON.parse(text)).toMatchObject({ code: 404, msg: 'There is no GET /account.' });
  });

  it('reports a text that is missing as an error, which fails these suites', async () => {
    const missing = /No text for app:pages\.usage in en/;
    console.expectProblems(missing);
    const page = await console.signedIn();
    await page.route('**/assets/texts.en-*.js', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('usage:`Usage`,users:', 'users:');
      await route.fulfill({ response, body });
    });
    const reported = page.waitForEvent('console', (message) => missing.test(message.text()));

    await page.goto('/account');

    expect((await reported).type()).toBe('error');
    // Texts of other parts may still be on their way through the route.
    await page.unrouteAll({ behavior: 'wait' });
  });
});

/** Opens another page without loading the console again, and waits for what it shows. */
async function open(page: Page, path: string): Promise<void> {
  const hasTab = path.includes('?');
  if (hasTab) await page.goto(path);
  else {
    await page.evaluate(`{
      for (const heading of document.querySelectorAll('h1')) heading.dataset.left = '';
      history.pushState(null, '', '${path}');
    }`);
  }
  await page.locator('h1:not([data-left])').first().waitFor({ state: 'attached' });
  await page.locator('main .mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}

/** The addresses of all pages of the router that need no run of the harness, whose suite looks at it. */
async function examplePaths(admin: Session): Promise<string[]> {
  const router = readFileSync('web/src/app/router.tsx', 'utf8');
  const first = async (path: string, key: string): Promise<unknown> =>
    done(await admin.get<Record<string, unknown>[]>(path)).rows[0]?.[key];
  const examples: Readonly<Record<string, unknown>> = {
    knowledgeId: await first('/system/info/list', 'id'),
    documentId: await first('/system/attach/list', 'id'),
    agentId: await first('/agent/agent/list', 'id'),
    modelId: await first('/system/model/list', 'id'),
    roleId: await first('/system/role/list', 'roleId'),
    serverId: done(
      await admin.post<{ id: number }>('/mcp/server', {
        name: 'example',
        address: 'http://127.0.0.1:9/mcp',
      }),
    ).data.id,
    groupId: done(await admin.post<number>('/system/group', { displayName: 'Example' })).data,
    sessionId: done(await admin.post<string>('/system/session', { sessionTitle: 'Empty' })).data,
  };
  const paths = [...router.matchAll(/\bpage\(\s*'([^']+)'/g)]
    .map(([, path = '']) => path)
    .filter((path) => path !== '/$' && !path.startsWith('/harness/$'))
    .map((path) => path.replace(/\$(\w+)/g, (_, name: string) => String(examples[name])));
  expect(paths.filter((path) => path.includes('undefined'))).toEqual([]);
  const base = `/knowledge/${String(examples['knowledgeId'])}`;
  const tabs = ['retrieval', 'tests', 'settings'].map((tab) => `${base}?tab=${tab}`);
  return [...paths, '/agents/new', '/models/new', '/roles/new', ...tabs];
}
