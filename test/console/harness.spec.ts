import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { createModel } from '../support/models.js';
import { makeRole, makeTenant, makeUser, PASSWORD } from '../support/people.js';
import { ParkedRuns } from '../support/parked-runs.js';
import { call, calling, DONE, planning } from '../support/scripted-model.js';
import type { Session } from '../support/session.js';
import { eventually } from '../support/wait.js';

const NO_RUN = '00000000-0000-7000-8000-000000000000';

/** What one browser keeps to one server at most, with HTTP/1.1. */
const CONNECTIONS = 6;

describeConsole('the harness in the console', () => {
  let console: Console;
  let admin: Session;
  let root: string;

  /** Each test has a workspace of its own: one run at a time changes a workspace. */
  const WORKSPACES = [
    'first',
    'second',
    'third',
    'asking',
    'granting',
    'unclear',
    'away',
    'steered',
    'unshared',
  ];
  const file = (workspace: string, name: string): string => join(root, workspace, name);

  beforeAll(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-console-')));
    for (const name of WORKSPACES) mkdirSync(join(root, name));
    console = await Console.open({ settings: { HARNESS_ROOTS: root, HARNESS_ASK_USER: 'on' } });
    admin = await console.plinth.signIn();
    await createModel(admin, {
      ...{ modelName: 'scripted', category: 'chat', providerCode: 'custom_api', apiKey: 'key' },
      ...{ apiHost: console.simulator.url, supportsTools: true, contextWindow: 64_000 },
    });
  });

  afterAll(async () => {
    await console.close();
    rmSync(root, { recursive: true, force: true });
  });

  /** A run that plans `made.js`, makes it, and asks before it removes `old.js`. */
  function script(workspace: string): void {
    writeFileSync(file(workspace, 'old.js'), 'old\n');
    console.simulator.reset();
    console.simulator.script(
      planning('made.js'),
      calling('write_file', { path: 'made.js', content: 'export const made = 1;\n' }),
      calling('delete_file', { path: 'old.js' }),
      DONE,
    );
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
  const button = (page: Page, name: string) => page.getByRole('button', { name });
  const status = (page: Page, name: string) => page.locator(`[data-status="${name}"]`).first();

  async function createSession(page: Page, workspace: string, title: string): Promise<void> {
    await page.goto('/harness');
    await button(page, 'Create session').first().click();
    const form = page.getByRole('dialog');
    await form.getByRole('combobox', { name: 'Workspace' }).fill(workspace);
    await page.getByRole('option', { name: workspace }).click();
    await form.getByRole('textbox', { name: 'Title' }).fill(title);
    await form.getByRole('combobox', { name: 'Model' }).fill('scripted');
    await form.getByRole('radio', { name: 'Edit workspace' }).check();
    await form.getByRole('button', { name: 'Create session' }).click();
    await heading(page, title).waitFor();
  }

  async function startRun(page: Page): Promise<void> {
    await page.getByRole('textbox', { name: 'What is to be done?' }).fill('Make made.js.');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Review the plan' }).waitFor();
  }

  it('takes a run from its requirement through its decisions to its summary and back', async () => {
    script('first');
    const page = await console.signedIn();
    await createSession(page, 'first', 'First');
    await expectNoViolations(page);
    await startRun(page);
    await expectNoViolations(page);

    // A key for the card before must not decide about this one, so the first presses may be left out.
    await eventually(
      async () => {
        await page.keyboard.press('a');
        return status(page, 'WAITING_FOR_INPUT').count();
      },
      (count) => count === 0,
    );
    await page.getByRole('region', { name: 'Remove these files?' }).waitFor();
    expect(existsSync(file('first', 'made.js'))).toBe(true);
    await page.getByRole('region', { name: 'made.js' }).first().waitFor();
    await page.getByLabel('1 decision waiting').waitFor();
    await expectNoViolations(page);

    const chinese = await console.signedIn({ language: 'zh' });
    await chinese.goto(page.url());
    await chinese.locator('li').filter({ hasText: '删除 old.js' }).waitFor();
    await chinese.context().close();

    // Decided in another tab: this one goes on by itself.
    const inbox = await page.context().newPage();
    await inbox.goto('/harness/approvals');
    await inbox.getByRole('link', { name: 'First' }).waitFor();
    await expectNoViolations(inbox);
    const decisions: string[] = [];
    inbox.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('/approvals/')) {
        decisions.push(request.url());
      }
    });
    await button(inbox, 'Approve once').dblclick();
    await inbox.getByText('Nothing waits for you').waitFor();
    expect(decisions.length).toBe(1);
    await status(page, 'COMPLETED').waitFor();
    expect(existsSync(file('first', 'old.js'))).toBe(false);
    await inbox.close();
    const summary = page.getByRole('region', { name: 'Summary of the run' });
    await eventually(
      () => summary.boundingBox(),
      (box) => box !== null && box.y + box.height <= 900,
    );

    await page.reload();
    await page.getByRole('region', { name: 'Summary of the run' }).waitFor();
    await expectNoViolations(page);
    await page.getByRole('list', { name: 'Changed files' }).getByText('made.js').click();
    await page.getByRole('dialog').getByText('export const made = 1;').waitFor();
    await page.keyboard.press('Escape');
    await button(page, 'Undo changes').click();
    await button(page, 'Redo changes').waitFor();
    expect([existsSync(file('first', 'made.js')), existsSync(file('first', 'old.js'))]).toEqual([
      false,
      true,
    ]);
    await button(page, 'Show report').click();
    await page.getByRole('dialog').getByText('Make made.js.').first().waitFor();
  });

  it('goes on by itself after a lost connection, and denies with a reason', async () => {
    script('second');
    console.expectProblems(/ERR_(CONNECTION|EMPTY|INCOMPLETE|NETWORK)/);
    const page = await console.signedIn({ width: 390 });
    await createSession(page, 'second', 'Second');
    await startRun(page);

    console.plinth.app.getHttpServer().closeAllConnections();
    await button(page, 'Approve plan').click();
    await page.getByRole('region', { name: 'Remove these files?' }).waitFor();
    await button(page, 'Deny').click();
    await page.getByLabel('Reason (optional)').fill('Keep it.');
    await expectNoViolations(page);
    await button(page, 'Deny call').click();

    await status(page, 'COMPLETED').waitFor();
    expect(existsSync(file('second', 'old.js'))).toBe(true);
    await page.getByText('Denied').first().waitFor();
  });

  /** As an old browser, or one that forbids them. */
  const WITHOUT_SHARED_WORKER = { content: 'delete globalThis.SharedWorker;' };

  it.each([
    ['third', 'through one worker', undefined],
    ['unshared', 'in a browser without such workers', WITHOUT_SHARED_WORKER],
  ])(
    'leaves connections for other pages when six tabs follow a run, %s: %s',
    async (workspace, _, start) => {
      script(workspace);
      const page = await console.signedIn();
      if (start) await page.context().addInitScript(start);
      await createSession(page, workspace, workspace);
      await startRun(page);
      expect(await page.evaluate("'SharedWorker' in globalThis")).toBe(start === undefined);
      const address = page.url();
      const tabs = await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          const tab = await page.context().newPage();
          await tab.goto(address);
          await tab.getByRole('region', { name: 'Review the plan' }).waitFor();
          return tab;
        }),
      );

      await page.goto('/harness');

      await page.getByRole('row', { name: workspace }).getByText('1 decision waits').waitFor();
      const [first] = tabs;
      if (first) await button(first, 'Cancel run').click();
      for (const tab of tabs) await status(tab, 'CANCELLED').waitFor();
    },
  );

  async function start(page: Page, requirement: string): Promise<void> {
    await page.getByRole('textbox', { name: 'What is to be done?' }).fill(requirement);
    await page.keyboard.press('Enter');
  }

  it('asks a question of the model, and gives the answer to it', async () => {
    console.simulator.reset();
    console.simulator.script(
      calling('ask_user', { question: 'Which port?', options: ['80', '8080'] }),
      DONE,
    );
    const page = await console.signedIn();
    await createSession(page, 'asking', 'Asking');
    await start(page, 'Open a port.');
    const card = page.getByRole('region', { name: 'scripted asks' });
    await card.getByRole('button', { name: '8080' }).waitFor();
    await expectNoViolations(page);

    await card.getByRole('textbox', { name: 'Your answer' }).fill('Take 9090.');
    await card.getByRole('button', { name: 'Send answer' }).click();

    await status(page, 'COMPLETED').waitFor();
    await page.getByText('Answered').first().waitFor();
    expect(JSON.stringify(console.simulator.requests.at(-1)?.body)).toContain('Take 9090.');
  });

  it('allows a path for the session, and asks again once that is revoked', async () => {
    const write = (content: string) =>
      calling('write_file', { path: 'other.js', content: `export const ${content};\n` });
    console.simulator.reset();
    console.simulator.script(planning('made.js'), write('one = 1'), write('two = 2'), DONE);
    const page = await console.signedIn();
    await createSession(page, 'granting', 'Granting');
    await startRun(page);
    await button(page, 'Approve plan').click();
    await page.getByRole('region', { name: 'Make this change?' }).waitFor();
    await button(page, 'Approve for the session').click();

    await status(page, 'COMPLETED').waitFor();
    expect(readFileSync(file('granting', 'other.js'), 'utf8')).toBe('export const two = 2;\n');
    await button(page, 'Revoke other.js').click();
    await button(page, 'Revoke other.js').waitFor({ state: 'detached' });

    console.simulator.script(planning('made.js'), write('three = 3'), DONE);
    await start(page, 'Once more.');
    await page.getByRole('region', { name: 'Review the plan' }).waitFor();
    await button(page, 'Approve plan').click();
    await page.getByRole('region', { name: 'Make this change?' }).waitFor();
    await button(page, 'Cancel run').click();
    await status(page, 'CANCELLED').waitFor();
  });

  it('has a person say what an interrupted call has done, and goes on', async () => {
    console.simulator.reset();
    console.simulator.script(DONE);
    const page = await console.signedIn();
    await createSession(page, 'unclear', 'Unclear');
    const sessionId = page.url().split('/').at(-1) ?? '';
    const parked = new ParkedRuns(console.plinth);
    const run = await parked.uncertain(sessionId);
    await parked.release(run);
    const calls = '**/effects?**';
    await page.route(calls, (route) =>
      route.fulfill({ json: { code: 500, msg: 'The disk is full.', data: null } }),
    );
    await page.goto('/harness/approvals');
    await page.getByText('The disk is full.').waitFor();
    await page.unroute(calls);
    await button(page, 'Try again').click();
    const card = page.getByRole('region', { name: 'The outcome of a call is unknown' });
    await card.getByText('npm test').waitFor();
    await expectNoViolations(page);

    // What waits is counted in the tenant that the sign-in works in.
    await makeTenant(console.plinth, admin, '515151');
    const waiting = page.getByLabel('1 decision waiting');
    const switchTenant = async (): Promise<void> => {
      await button(page, 'Account of admin').click();
      await page.getByRole('menuitem', { name: 'Switch tenant' }).click();
    };
    await waiting.waitFor();
    await switchTenant();
    // A menu that closes can take the focus, and with it the typed text, from the field.
    await eventually(
      async () => {
        await page.getByRole('combobox', { name: 'Current tenant' }).fill('515151');
        return page.getByRole('option', { name: 'Company 515151' }).isVisible();
      },
      (isListed) => isListed,
    );
    await page.getByRole('option', { name: 'Company 515151' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Switch tenant' }).click();
    await waiting.waitFor({ state: 'detached' });
    await page.getByText('Nothing waits for you').waitFor();
    await switchTenant();
    // The list of the field, which has the focus, lies over the button.
    await button(page, 'Back to own tenant').press('Enter');
    await waiting.waitFor();

    await card.getByRole('textbox', { name: 'Note for the model' }).fill('It was through.');
    await card.getByRole('button', { name: 'It was executed' }).click();

    await page.getByText('Nothing waits for you').waitFor();
    await page.goto(`/harness/${sessionId}/${run.runId}`);
    await status(page, 'COMPLETED').waitFor();
    expect(JSON.stringify(console.simulator.requests.at(-1)?.body)).toContain('It was through.');
  });

  it('resumes a run whose model service was not available', async () => {
    script('away');
    const page = await console.signedIn();
    await createSession(page, 'away', 'Away');
    await startRun(page);
    const { rows } = await admin.get<{ id: number }[]>(
      '/system/provider/list?providerCode=custom_api',
    );
    const turn = (to: '0' | '1') => admin.put('/system/provider', { id: rows[0]?.id, status: to });
    expect(await turn('1')).toMatchObject({ code: 200 });
    await button(page, 'Approve plan').click();
    await page.getByRole('region', { name: 'The model service is not available' }).waitFor();
    await status(page, 'SUSPENDED').waitFor();
    await expectNoViolations(page);

    expect(await turn('0')).toMatchObject({ code: 200 });
    await button(page, 'Resume run').click();

    await page.getByRole('region', { name: 'Remove these files?' }).waitFor();
    await button(page, 'Deny').click();
    await button(page, 'Deny and stop run').click();
    await page.getByText('Stopped by a denied call').waitFor();
  });

  it('says something to a run that works, which reads it at its next step', async () => {
    console.simulator.reset();
    const reads = [...call('list_files'), ...call('read_file', { path: 'no\u{202e}.js' })];
    console.simulator.script({ toolCalls: reads, hold: true }, DONE);
    const page = await console.signedIn();
    await createSession(page, 'steered', 'Steered');
    await start(page, 'Look around.');
    await eventually(
      () => console.simulator.held,
      (held) => held === 1,
    );
    await page.getByRole('textbox', { name: 'Say something to the run' }).fill('Only the root.');
    await button(page, 'Send message').click();
    await page.getByText('For the next step · not read yet').waitFor();
    await expectNoViolations(page);

    console.simulator.release();

    await page.getByText('For the next step · read').waitFor();
    await status(page, 'COMPLETED').waitFor();
    expect(JSON.stringify(console.simulator.requests.at(-1)?.body)).toContain('Only the root.');

    const chinese = await console.signedIn({ language: 'zh' });
    await chinese.goto(page.url());
    await button(chinese, '读取 2 次').click();
    await chinese.getByText('列出 .', { exact: true }).waitFor();
    // The line of the server, which marks what turns the direction of the text round.
    await chinese.getByText('read no⟨U+202E⟩.js', { exact: true }).waitFor();
    await chinese.context().close();
  });

  it('says what is not there, what is refused and what failed', async () => {
    const page = await console.signedIn();
    await page.goto(`/harness/${NO_RUN}`);
    await page.getByText('The session was not found').waitFor();

    const person = await makeUser(console.plinth, admin, 'no-coder', [
      await makeRole(admin, 'no-coder', ['system:info:list']),
    ]);
    const user = { name: person.name, password: PASSWORD };
    const stranger = await console.signedIn({ user, theme: 'dark', language: 'zh' });
    await stranger.goto('/harness');
    await stranger.getByText('coding:harness:use').waitFor();

    await page.route('**/coding/harness/sessions?**', (route) =>
      route.fulfill({ json: { code: 500, msg: 'Something went wrong.', data: null } }),
    );
    await page.goto('/harness');
    await page.getByText('Something went wrong.').waitFor();
    await page.unroute('**/coding/harness/sessions?**');
    await button(page, 'Try again').click();
    await page.getByRole('table', { name: 'Harness' }).waitFor();
    await expectNoViolations(page);
  });

  it('stops all changes after a confirmation, and allows them again', async () => {
    const page = await console.signedIn();
    await page.goto('/harness');
    await button(page, 'Stop changes').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop changes' }).click();
    await page.getByText('Changes are stopped', { exact: true }).waitFor();
    await button(page, 'Allow changes').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Allow changes' }).click();
    await button(page, 'Stop changes').waitFor();

    // An entry names a record without a name by the end of its id, and by all of it when it is open.
    await page.getByRole('link', { name: 'Audit log' }).click();
    const entry = page.getByRole('button', { name: /^admin added harness session …[\da-f]{8}\b/ });
    await entry.first().click();
    const whole = page.getByText(/record id [\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    await whole.filter({ visible: true }).waitFor();
  });
});
