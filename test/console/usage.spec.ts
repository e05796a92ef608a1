import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendChat } from '../support/chat.js';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { done, makeUser, PASSWORD, roleId } from '../support/people.js';
import type { Session } from '../support/session.js';
import { eventually } from '../support/wait.js';

const MODEL = 'demo-chat-paced';

describeConsole('usage in the console', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
  });

  afterAll(() => console.close());

  it('shows calls and costs by day and by group, and saves them as CSV', async () => {
    const { plinth } = console;
    const admin = await plinth.signIn();
    const page = await console.signedIn();
    await page.goto(`/models/${await modelId(admin)}`);
    await page.getByLabel('Price of cached input').fill('0.25');
    await page.getByRole('button', { name: 'Save model' }).click();
    await page.getByText('Saved').first().waitFor();
    await expectNoViolations(page);

    await sendChat(admin, { model: MODEL, content: 'Hello' });
    await expectBooked(admin);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await page.getByRole('row', { name: new RegExp(MODEL) }).waitFor();
    await expectNoViolations(page);

    await page.getByRole('combobox', { name: 'Group by' }).click();
    await page.getByRole('option', { name: 'User' }).click();
    await page.getByRole('row', { name: /^admin/ }).waitFor();
    expect(page.url()).toContain('by=user');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    expect((await saving).suggestedFilename()).toBe('usage.csv');
  });

  it('shows users without the permission their own calls alone', async () => {
    const { plinth } = console;
    const admin = await plinth.signIn();
    const reader = await makeUser(plinth, admin, 'thrifty', [await roleId(admin, 'user')]);
    await sendChat(reader.session, { model: MODEL, content: 'Hello' });
    await expectBooked(reader.session);
    const page = await console.signedIn({
      user: { name: 'thrifty', password: PASSWORD },
      language: 'zh',
      theme: 'dark',
    });
    await page.goto('/usage?by=user');
    await page.getByRole('row', { name: /thrifty/ }).waitFor();
    expect(await page.getByRole('row', { name: /admin/ }).count()).toBe(0);
    expect(await page.getByText('所有人').count()).toBe(0);
    await expectNoViolations(page);
  });
});

/** The books are written a moment after a call. */
async function expectBooked(session: Session): Promise<void> {
  await eventually(
    async () => done(await session.get<{ total: { calls: number } }>('/monitor/usage/own')).data,
    ({ total }) => total.calls > 0,
  );
}

async function modelId(session: Session): Promise<number> {
  const path = `/system/model/list?modelName=${MODEL}`;
  const { rows } = done(await session.get<{ id: number }[]>(path));
  if (!rows[0]) throw new Error(`There is no model ${MODEL}.`);
  return rows[0].id;
}
