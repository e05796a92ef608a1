import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { NoticeWorker } from '../../src/notice/notice.worker.js';
import { UsageLedger } from '../../src/usage/usage.ledger.js';
import { sendChat } from '../support/chat.js';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { createModel } from '../support/models.js';
import { done, makeUser, PASSWORD, roleId } from '../support/people.js';
import type { Session } from '../support/session.js';
import { eventually } from '../support/wait.js';

const MODEL = 'demo-chat-paced';
/** Called by one test alone, so that what is used of its limit is what that has used. */
const LIMITED = 'sim--chunks-100';
/** 30 tokens a call. */
const FIXED = 'sim-fixed--inputtokens-10--outputtokens-20';

interface UsedLimit {
  readonly use: { readonly used: number };
}

describeConsole('usage in the console', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open({ settings: { TZ: 'Pacific/Kiritimati' } });
  });

  afterAll(() => console.close());

  it('shows calls and costs by day and by group, and saves them as CSV', async () => {
    const { plinth } = console;
    const admin = await plinth.signIn();
    // Where it is always an earlier day than at the service.
    const page = await console.signedIn({ timeZone: 'Pacific/Pago_Pago' });
    await page.goto(`/models/${await modelId(admin)}`);
    await page.getByLabel('Cached input price').fill('0.25');
    await page.getByRole('button', { name: 'Save model' }).click();
    await page.getByText('Done.').waitFor();
    await expectNoViolations(page);

    await sendChat(admin, { model: MODEL, content: 'Hello' });
    await expectRecorded(admin);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await page.getByRole('row', { name: new RegExp(MODEL) }).waitFor();
    await page.getByText('costs in the currency of your prices').waitFor();
    // The calls of today, at the end of the last 30 days.
    await page.locator('polyline[points$=" 100.0,2.0"]').first().waitFor();
    await expectNoViolations(page);

    const report = '**/monitor/usage?*';
    await page.route(report, (route) =>
      route.fulfill({ json: { code: 500, msg: 'The database is busy.', data: null } }),
    );
    const groupBy = page.getByRole('combobox', { name: 'Group by' });
    await groupBy.click();
    await page.getByRole('option', { name: 'User' }).click();
    await page.getByRole('alert').getByText('The database is busy.').waitFor();
    await groupBy.waitFor();
    await page.unroute(report);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('row', { name: /^admin/ }).waitFor();
    expect(page.url()).toContain('by=user');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('usage.csv');
    const text = (await readFile(await saved.path())).toString();
    expect(text).toMatch(/^\uFEFFid,callTime,/);

    await page.goto('/users');
    await page
      .getByRole('row', { name: /admin/ })
      .getByText(/^(now|\d+ minutes? ago)$/)
      .first()
      .waitFor();
  });

  it('sets limits, shows what is used of them, changes and removes them', async () => {
    const { plinth } = console;
    const admin = await plinth.signIn();
    const { url } = console.simulator;
    await createModel(admin, { modelName: LIMITED, apiHost: `${url}/v1`, apiKey: 'key' });
    const page = await console.signedIn();
    const dialog = page.getByRole('dialog').last();
    const row = page.getByRole('row').filter({ hasText: 'Model sim--chunks-100' });
    const button = (name: string) => dialog.getByRole('button', { name, exact: true });
    await page.goto('/usage');
    await page.getByRole('tab', { name: 'Limits' }).click();
    await page.getByText('No limits yet').waitFor();
    await expectNoViolations(page);

    await page.getByRole('button', { name: 'Add limit' }).click();
    await button('Add limit').click();
    await dialog.getByText('Enter a number from 0 on.').waitFor();
    await dialog.getByRole('combobox', { name: 'Applies to' }).click();
    await page.getByRole('option', { name: 'Model', exact: true }).click();
    await dialog.getByRole('combobox', { name: 'Model' }).click();
    await page.getByRole('option', { name: LIMITED, exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Limit' }).fill('1000000');
    await expectNoViolations(page);
    await button('Add limit').click();
    await row.getByText('of 1,000,000').waitFor();
    const tabs = await page.getByRole('tablist').boundingBox();
    const table = await page.getByRole('table').boundingBox();
    // Nothing between them: the table has no filters, no columns to choose and no export.
    expect((table?.y ?? NaN) - ((tabs?.y ?? NaN) + (tabs?.height ?? NaN))).toBeLessThan(32);
    await sendChat(admin, { model: LIMITED, content: 'Hello' });
    const used = async (): Promise<number> => {
      const { rows } = done(await admin.get<UsedLimit[]>('/system/limit/list'));
      return rows[0]?.use.used ?? 0;
    };
    const tokens = await eventually(used, (count) => count > 0);
    await page.reload();
    await row.getByText(`${tokens.toLocaleString('en')} of 1,000,000`).waitFor();
    await row.getByRole('progressbar').waitFor();
    await expectNoViolations(page);

    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Change limit' }).click();
    await dialog.getByRole('textbox', { name: 'Limit' }).fill('1');
    await button('Save limit').click();
    await row.getByText(`${tokens.toLocaleString('en')} of 1`, { exact: true }).waitFor();
    const refused = await sendChat(admin, { model: LIMITED, content: 'Hello' });
    expect(refused.error).toMatch(/limit of 1 tokens per day for the model/);

    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove limit' }).click();
    await dialog.getByText('Model sim--chunks-100: Tokens per day').waitFor();
    await button('Remove limit').click();
    await page.getByText('No limits yet').waitFor();
    expect((await sendChat(admin, { model: LIMITED, content: 'Hello' })).done).toBe(true);
  });

  it('adds addresses for notices, shows thresholds and what was not delivered', async () => {
    const { plinth } = console;
    const admin = await plinth.signIn();
    const service = { apiHost: `${console.simulator.url}/v1`, apiKey: 'key' };
    const fixedId = await createModel(admin, { ...service, modelName: FIXED });
    const bodies: { readonly headers: Record<string, string>; readonly body: string }[] = [];
    const receiver = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const isHook = request.url === '/hook';
        if (isHook) bodies.push({ headers: request.headers as Record<string, string>, body });
        response.writeHead(isHook ? 204 : 500, { connection: 'close' }).end();
      });
    });
    receiver.unref();
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    const page = await console.signedIn();
    const dialog = page.getByRole('dialog').last();
    const button = (name: string) => dialog.getByRole('button', { name, exact: true });
    const rowOf = (path: string) => page.getByRole('row').filter({ hasText: path });
    await page.goto('/usage');
    await page.getByRole('tab', { name: 'Notices' }).click();
    await page.getByText('No addresses yet').waitFor();
    await expectNoViolations(page);

    const add = async (path: string): Promise<string> => {
      await page.getByRole('button', { name: 'Add address' }).click();
      await dialog.getByText('This installation sends no mail').waitFor();
      await button('Add address').click();
      await dialog.getByText('Enter an address that begins with https://.').waitFor();
      const address = `http://127.0.0.1:${port}${path}`;
      await dialog.getByRole('textbox', { name: 'Address' }).fill(address);
      await expectNoViolations(page);
      await button('Add address').click();
      const secret = await dialog.getByText(/^whsec_/).textContent();
      await expectNoViolations(page);
      await button('I have copied the secret').click();
      await rowOf(path).getByText('None yet').waitFor();
      return secret ?? '';
    };
    const secret = await add('/hook');
    await add('/failing');
    const limit = { scope: 'model', modelId: fixedId, measure: 'tokens-day', cap: 1_000 };
    const { id } = done(await admin.post<{ id: number }>('/system/limit', limit)).data;
    const messages = [{ role: 'user', content: 'Hello' }];
    const body = { model: FIXED, messages, max_tokens: 5 };
    for (let call = 0; call < 17; call += 1) {
      expect((await admin.raw('POST', '/v1/chat/completions', body)).status).toBe(200);
    }
    await plinth.app.get(UsageLedger, { strict: false }).settled();
    const worker = plinth.app.get(NoticeWorker, { strict: false });
    await worker.round(new AbortController().signal);

    await rowOf('/hook').getByText('Delivered', { exact: true }).waitFor();
    await rowOf('/failing').getByText('Trying again').waitFor();
    await rowOf('/failing').getByText('The webhook answered with status 500.').waitFor();
    await expectNoViolations(page);
    const webhook = new Webhook(secret);
    const events = bodies.map((one) => webhook.verify(one.body, one.headers));
    expect(events).toHaveLength(1);
    await page.getByRole('tab', { name: 'Limits' }).click();
    const limited = page.getByRole('row').filter({ hasText: '510 of 1,000' });
    await limited.getByText('50 % reached').waitFor();
    await expectNoViolations(page);

    await page.getByRole('tab', { name: 'Notices' }).click();
    await rowOf('/failing').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Remove address' }).click();
    await dialog.getByText(`http://127.0.0.1:${port}/failing gets no more notices.`).waitFor();
    await button('Remove address').click();
    await rowOf('/failing').waitFor({ state: 'detached' });
    await rowOf('/hook').waitFor();
    done(await admin.delete(`/system/limit/${id}`));
  });

  it('shows users without the permission their own calls alone', async () => {
    const { plinth } = console;
    const admin = await plinth.signIn();
    const reader = await makeUser(plinth, admin, 'thrifty', [await roleId(admin, 'user')]);
    await sendChat(reader.session, { model: MODEL, content: 'Hello' });
    await expectRecorded(reader.session);
    const page = await console.signedIn({
      user: { name: 'thrifty', password: PASSWORD },
      language: 'zh',
      theme: 'dark',
    });
    await page.goto('/usage?by=user');
    await page.getByRole('row', { name: /thrifty/ }).waitFor();
    expect(await page.getByRole('row', { name: /admin/ }).count()).toBe(0);
    expect(await page.getByText('所有人').count()).toBe(0);
    expect(await page.getByRole('tab').count()).toBe(0);
    await expectNoViolations(page);
  });
});

/** The usage ledger is written a moment after a call. */
async function expectRecorded(session: Session): Promise<void> {
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
