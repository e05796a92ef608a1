import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { clickFace, Console, describeConsole, expectNoViolations } from '../support/console.js';
import { createKnowledge, settled, upload } from '../support/knowledge.js';
import type { AttachmentRow } from '../support/knowledge.js';
import { makeRole, makeUser, PASSWORD } from '../support/people.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const FILES = 50;
/** Of a document. */
const PARSING = 1;

const WARRANTY = `# Warranty

A drill has a warranty of two years from the day of purchase. Keep the receipt.

# Returns

Tools are returned within thirty days, unused and in their box.
`;

/** A web site by paths; its start links to one page that can be read and one that cannot. */
const SITE: Readonly<Record<string, string>> = {
  '/docs/': '<p>Start.</p><a href="leave">Leave</a><a href="sound.mp3">Sound</a>',
  '/docs/leave': '<p>A year has thirty days of leave.</p>',
  '/docs/sound.mp3': `ID3\u0004\0\0\0\0\0\0${'\0'.repeat(64)}`,
};

describeConsole('the pages of knowledge bases', () => {
  let console: Console;
  let admin: Session;
  let base: number;
  let page: Page;

  beforeAll(async () => {
    console = await Console.open();
    admin = await console.plinth.signIn();
    base = await createKnowledge(admin, {
      name: 'Tools',
      share: 1,
      embeddingModel: 'demo-embedding-384',
      enableHybrid: 1,
      textBlockSize: 100,
    });
    await upload(admin, base, [
      ['warranty.md', WARRANTY],
      ['opening-hours.md', 'The shop is open from nine to six, on Saturdays until two.'],
    ]);
    await settled(admin, base);
    page = await console.signedIn();
  });

  afterAll(() => console.close());

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const text = (words: string | RegExp) => page.getByText(words).first();
  /** Opens the menu of a row and chooses one of its entries. */
  const choose = async (row: string, entry: string): Promise<void> => {
    const found = page.getByRole('row').filter({ hasText: row });
    await found.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: entry }).click();
  };

  it('make a base, take fifty files with their progress, and delete it by its name', async () => {
    await page.goto('/knowledge');
    await button('Add knowledge base').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Fifty');
    await page.getByRole('dialog').getByRole('button', { name: 'Add knowledge base' }).click();
    await page.getByRole('heading', { name: 'Fifty' }).waitFor();
    await text(/Up to \d+ MB each/).waitFor();

    const files = Array.from({ length: FILES }, (_, place) => ({
      name: `note-${place}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(`The note with the number ${place} is about birds.`),
    }));
    const refused = {
      name: 'sound.mp3',
      mimeType: 'audio/mpeg',
      buffer: Buffer.concat([Buffer.from('ID3\u0004\0\0\0\0\0\0'), Buffer.alloc(64)]),
    };
    const parsesLater = page.getByRole('switch', { name: 'Parse at once' });
    for (const isOn of [false, true]) {
      await clickFace(parsesLater);
      expect(await parsesLater.isChecked()).toBe(isOn);
    }
    const chooser = page.waitForEvent('filechooser');
    await button('Upload documents').click();
    await (await chooser).setFiles([refused, ...files]);

    await text(`${FILES} files uploaded`).waitFor();
    await text('Audio and video files are not supported.').waitFor();
    await text('Ready').waitFor();
    await text(`${FILES} rows`).waitFor();
    const uploads = page.getByRole('region', { name: 'Uploads' });
    await uploads.waitFor();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.locator('input[name=username], input[autocomplete=username]').fill('admin');
    await page.locator('input[type=password]').fill(ADMIN_PASSWORD);
    await page.locator('button[type=submit]').click();
    await text(`${FILES} rows`).waitFor();
    expect(await uploads.count()).toBe(0);

    await page.getByRole('tab', { name: 'Settings' }).click();
    await button('Delete knowledge base').click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Delete knowledge base' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('Fifty');
    await confirm.click();
    await page.getByRole('table', { name: 'Knowledge bases' }).waitFor();
    await page.getByRole('button', { name: 'Fifty' }).waitFor({ state: 'detached' });
    await expectNoViolations(page);
  });

  it('describe documents, filter by that, and show why one has failed with what to do', async () => {
    await upload(admin, base, [['broken.pdf', 'This is no PDF.']]);
    await page.goto(`/knowledge/${base}`);
    await text('This is not a PDF').waitFor();
    await text('1 document could not be parsed.').waitFor();
    await expectNoViolations(page);

    const row = page.getByRole('row', { name: /warranty\.md/ });
    await row.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit metadata' }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('button', { name: 'Add key' }).click();
    await drawer.getByLabel('Key', { exact: true }).fill('department');
    await drawer.getByRole('textbox', { name: 'Value' }).fill('sales');
    await drawer.getByRole('button', { name: 'Save metadata' }).click();
    await text('department: sales').waitFor();

    await button('Metadata').click();
    await button('Add condition').click();
    await page.getByRole('textbox', { name: 'Value' }).fill('sales');
    await button('Apply filter').click();
    await page.getByRole('row', { name: /opening-hours/ }).waitFor({ state: 'detached' });
    await page.reload();
    await row.waitFor();
    expect(await page.getByRole('row').count()).toBe(2);

    await page.goto(`/knowledge/${base}`);
    const broken = page.getByRole('row', { name: /broken\.pdf/ });
    // On a phone, all of its state is seen without scrolling sideways.
    await page.setViewportSize({ width: 390, height: 900 });
    await eventually(
      () => broken.getByRole('cell').nth(2).boundingBox(),
      (box) => box !== null && box.x + box.width <= 390 - 16,
    );
    await page.setViewportSize({ width: 1440, height: 900 });
    const parsing = '**/system/attach/parse/*';
    const msg = 'Done. 1 fragment that was written by hand is replaced.';
    await page.route(parsing, (route) => route.fulfill({ json: { code: 200, msg, data: null } }));
    await broken.getByRole('button', { name: 'Try again' }).click();
    await text(msg).waitFor();
    await page.unroute(parsing);
    await broken.getByText('broken.pdf').click();
    await text('The document could not be parsed. The reason is above.').waitFor();
  });

  it('act on all chosen documents, and say which failed', async () => {
    await page.goto(`/knowledge/${base}`);
    const all = page.getByRole('checkbox', { name: 'Select all rows' });
    const refusal = { code: 409, msg: 'It is locked.', data: null };
    const refuseFirst = (others: (route: Route) => Promise<void>) => {
      let asked = 0;
      return (route: Route): Promise<void> => {
        asked += 1;
        return asked === 1 ? route.fulfill({ json: refusal }) : others(route);
      };
    };
    await all.check();
    await button('Edit metadata').click();
    const drawer = page.getByRole('dialog');
    await drawer.getByLabel('Key', { exact: true }).fill('year');
    await drawer.getByRole('textbox', { name: 'Value' }).fill('2026');
    await page.route(
      '**/system/attach/*/metadata',
      refuseFirst((route) => route.continue()),
    );
    await drawer.getByRole('button', { name: 'Save metadata' }).click();
    await drawer.getByText(/^2 done, 1 not: \S+ – It is locked\.$/).waitFor();
    // The list below has what was done.
    await eventually(
      () => page.getByText('year: 2026').count(),
      (count) => count === 2,
    );
    await drawer.getByRole('button', { name: 'Save metadata' }).click();
    await eventually(
      () => page.getByText('year: 2026').count(),
      (count) => count === 3,
    );

    const parsing = '**/system/attach/parse/*';
    const asked = { code: 200, msg: 'Done.', data: null };
    await page.route(
      parsing,
      refuseFirst((route) => route.fulfill({ json: asked })),
    );
    await button('Parse again').click();
    await text(/^2 done, 1 not: \S+ – It is locked\.$/).waitFor();
    await page.unroute(parsing);

    // As if the parsing had ended since the list was loaded.
    const list = '**/system/attach/list*';
    await page.route(list, async (route) => {
      const response = await route.fetch();
      const { rows, ...answer } = (await response.json()) as { rows: AttachmentRow[] };
      const moving = rows.map((row) => ({ ...row, status: PARSING }));
      await route.fulfill({ response, json: { ...answer, rows: moving } });
    });
    await page.reload();
    await all.check();
    await button('Cancel parsing').click();
    await text('The parsing was cancelled.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('count as uploaded what is stored', async () => {
    await page.goto(`/knowledge/${base}`);
    const uploading = '**/system/attach/upload';
    await page.route(uploading, () => undefined);
    await text(/Up to \d+ MB each/).waitFor();
    await page
      .getByLabel('Files to upload')
      .first()
      .setInputFiles({ name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('Late.') });
    await button('Cancel upload: late.txt').click();
    await text('0 files uploaded').waitFor();
    await page.unroute(uploading);
  });

  it('mark a fragment in the text of its document, and let it be changed', async () => {
    const { rows } = await admin.get<{ fid: string; docId: string; content: string }[]>(
      `/system/fragment/list?knowledgeId=${base}&content=receipt`,
    );
    const fragment = rows[0];
    await page.goto(`/knowledge/${base}/documents/${fragment?.docId}?fragment=${fragment?.fid}`);
    const marked = page.locator('article [aria-current=true]');
    await marked.waitFor();
    expect(await marked.innerText()).toContain('Keep the receipt.');
    await expectNoViolations(page);

    await page.getByText('Fragments', { exact: true }).click();
    await page
      .getByRole('textbox', { name: 'Search in the fragments' })
      .or(page.getByRole('searchbox'))
      .fill('thirty');
    await text('Tools are returned within').waitFor();
    await page.getByText('Keep the receipt.').waitFor({ state: 'detached' });
    await page
      .getByRole('button', { name: /^Actions of fragment/ })
      .first()
      .click();
    await page.getByRole('menuitem', { name: 'Edit fragment' }).click();
    await page
      .getByRole('textbox', { name: 'Text' })
      .fill('Tools are returned within thirty-one days.');
    await button('Save fragment').click();
    await text('Tools are returned within thirty-one days.').waitFor();
    await text('Edited').waitFor();

    await page.getByText('Split preview', { exact: true }).click();
    await text('Mean length').waitFor();
    await page.getByLabel('Fragment size').fill('40');
    await page.getByLabel('Overlap').fill('5');
    await button('Preview').click();
    await page.waitForURL(/split=/);
    await button('Apply to the knowledge base').click();
    await page.getByRole('dialog').getByRole('cell', { name: 'Fragment size' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expectNoViolations(page);

    // As when the only fragment of the last page was deleted.
    await page.goto(`/knowledge/${base}/documents/${fragment?.docId}?page=2`);
    await text('Keep the receipt.').waitFor();
    await page.waitForURL('**?page=1');
  });

  it('explain each hit of a search, compare two settings, and apply one after its difference', async () => {
    const question = 'How long is the warranty of a drill?';
    const search = async (settings: string): Promise<unknown> => {
      await page.goto(`/knowledge/${base}?tab=retrieval${settings}`);
      await page.getByRole('textbox', { name: /Question or words/ }).fill(question);
      const asked = page.waitForRequest(
        (request) => request.postData()?.includes(question) === true,
      );
      await page.getByRole('button', { name: 'Search', exact: true }).click();
      return (await asked).postDataJSON() as unknown;
    };
    // It begins with what the base is set to.
    const { data: saved } = await admin.get<Record<string, unknown>>(`/system/info/${base}`);
    expect(await search('')).toMatchObject({
      topK: saved['retrieveLimit'],
      threshold: saved['similarityThreshold'],
      enableHybrid: true,
    });
    await search(`&first=${encodeURIComponent('{"threshold":0.5}')}`);
    await page.locator('mark', { hasText: 'warranty' }).first().waitFor();
    await text(/below the similarity threshold/).waitFor();
    await button(/^Why not\?/).click();
    await text('Similarity below 0.5').waitFor();

    await button('Compare settings').click();
    await page.getByRole('region', { name: 'Settings B' }).first().waitFor();
    await expectNoViolations(page);
    await button('Expect this document').first().click();
    await text('The question is in the test set').waitFor();

    await button('Apply to the knowledge base').first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('row', { name: /Similarity threshold 0 0\.5/ }).waitFor();
    await dialog.getByRole('button', { name: 'Save settings' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { data } = await admin.get<{ similarityThreshold: number }>(`/system/info/${base}`);
    expect(data.similarityThreshold).toBe(0.5);
  });

  it('begin a long hit with the first word that was matched', async () => {
    const lines = Array.from({ length: 20 }, (_, line) => `Line ${line} is about soft cloth.`);
    const long = await createKnowledge(admin, {
      ...{ name: 'Long', embeddingModel: 'demo-embedding-384' },
      ...{ enableHybrid: 1, textBlockSize: 2_000 },
    });
    await upload(admin, long, [['machine.txt', [...lines, 'Descale it monthly.'].join('\n\n')]]);
    await settled(admin, long);

    await page.goto(`/knowledge/${long}?tab=retrieval`);
    await page.getByRole('textbox', { name: /Question or words/ }).fill('Descale monthly');
    await page.keyboard.press('Enter');

    await page.locator('mark', { hasText: 'Descale' }).first().waitFor();
    await text(/^… Descale it monthly/).waitFor();
    await button('Show all').first().click();
    await text(/^Line 0 is about soft cloth/).waitFor();
  });

  it('measure the test set, keep the scores, and compare two runs', async () => {
    await page.goto(`/knowledge/${base}?tab=tests`);
    await text('How long is the warranty of a drill?').waitFor();
    const running = '**/evaluate';
    await page.route(running, () => undefined);
    await button('Run evaluation').click();
    await text('Leaving this page cancels the evaluation.').waitFor();
    const ended = page.waitForEvent('requestfailed', (one) => one.url().endsWith('/evaluate'));
    await page.getByRole('tab', { name: 'Documents' }).click();
    await ended;
    await page.unroute(running);
    await page.getByRole('tab', { name: 'Test sets' }).click();
    await button('Run evaluation').click();
    await text('The evaluation is complete.').waitFor();
    await button('Run evaluation').click();
    await page.getByRole('img', { name: 'Scores of the runs over time' }).waitFor();
    for (const box of await page.getByRole('checkbox', { name: /for comparison/ }).all()) {
      await box.check();
    }
    await text('Both runs had the same settings.').waitFor();
    await page.reload();
    await text('nDCG by question')
      .or(page.getByRole('table', { name: 'nDCG by question' }))
      .first()
      .waitFor();
    await expectNoViolations(page);
  });

  it('save settings, say what needs parsing again, and guard what is not saved', async () => {
    await page.goto(`/knowledge/${base}?tab=settings`);
    await page.getByLabel('Fragment size').fill('120');
    await text(/^Parse all \d+ documents again now/).waitFor();
    await expectNoViolations(page);
    await page.getByRole('tab', { name: 'Documents' }).click();
    await button('Discard changes').last().waitFor();
    await page.getByRole('dialog').getByRole('button').last().click();
    await page.getByRole('table', { name: 'Documents' }).waitFor();

    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByLabel('Description').fill('All about tools.');
    // Others save another setting meanwhile, which the second save is told of.
    await admin.put('/system/info', { id: base, remark: 'For the shop.' });
    await clickFace(page.getByLabel('Rerank').first());
    await button('Save settings').click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Someone else has changed this' });
    await conflict.getByText('For the shop.').waitFor();
    await conflict.getByRole('button', { name: 'Apply the choice' }).click();
    expect(await page.getByLabel('Remark').inputValue()).toBe('For the shop.');
    expect(await page.getByLabel('Description').inputValue()).toBe('All about tools.');
    await button('Save settings').click();
    await text(/^Done\. Reranking is on, but no rerank model is chosen/).waitFor();
    await text('All about tools.').waitFor();
    const { data } = await admin.get(`/system/info/${base}`);
    expect(data).toMatchObject({ description: 'All about tools.', remark: 'For the shop.' });
  });

  it('say what failed and try again, without losing the rest of the page', async () => {
    const failing = '**/system/attach/list*';
    await page.route(failing, (route) =>
      route.fulfill({
        headers: { 'X-Request-Id': 'request-of-the-test' },
        json: { code: 500, msg: 'The database is not available. Try again later.', data: null },
      }),
    );
    await page.goto(`/knowledge/${base}`);
    await text('The database is not available.').waitFor();
    await text('request-of-the-test').waitFor();
    await page.getByRole('heading', { name: 'Tools' }).waitFor();
    await page.unroute(failing);
    await button('Try again').click();
    await page.getByRole('row', { name: /warranty\.md/ }).waitFor();
  });

  it('connect a web site, run and pause it, and delete it with its documents', async () => {
    const site = createServer(({ url = '' }, response) => {
      const content = SITE[url];
      const type = url.endsWith('.mp3') ? 'audio/mpeg' : 'text/html';
      response.writeHead(content === undefined ? 404 : 200, { 'content-type': type }).end(content);
    });
    await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const siteBase = await createKnowledge(admin, {
      name: 'Connected',
      embeddingModel: 'demo-embedding-384',
    });
    const dialog = page.getByRole('dialog');
    const inDialog = (name: string) => dialog.getByRole('button', { name });
    const fill = (name: string, value: string) => dialog.getByRole('textbox', { name }).fill(value);

    await page.goto(`/knowledge/${siteBase}`);
    await button('Connect web site').click();
    await inDialog('Connect web site').click();
    await dialog.getByText('Enter a name.').waitFor();
    await fill('Name', 'Handbook');
    await fill('Address', `${address}/docs/`);
    await dialog.getByRole('combobox', { name: 'Schedule' }).click();
    await page.getByRole('option', { name: 'Monday to Friday at 06:00' }).click();
    await expectNoViolations(page);
    await inDialog('Connect web site').click();
    await dialog.waitFor({ state: 'detached' });

    const row = page.getByRole('row').filter({ hasText: 'Handbook' });
    await row.getByText('Monday to Friday at 06:00 · UTC').waitFor();
    await row.getByRole('button', { name: 'Run now' }).click();
    await row.getByText('Up to date').waitFor();
    await page.getByRole('row', { name: /leave\.html/ }).waitFor();
    await row.getByRole('button', { name: '1 problem' }).click();
    await dialog.getByText('Audio and video files are not supported.').waitFor();
    await expectNoViolations(page);
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'Pause' }).click();
    await row.getByText('Paused').waitFor();

    const chooseSource = async (name: string, entry: string): Promise<void> => {
      await button(`Actions of ${name}`).click();
      await page.getByRole('menuitem', { name: entry }).click();
    };
    await chooseSource('Handbook', 'Delete source');
    await dialog.getByText('Its 2 documents are deleted').waitFor();
    await dialog.getByRole('textbox').fill('Handbook');
    await inDialog('Delete source').click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /leave\.html/ }).waitFor({ state: 'detached' });

    await button('Connect Git repository').click();
    await fill('Name', 'Rules');
    await fill('Repository', `${address}/rules.git`);
    await dialog.getByLabel('Access token').fill('token-of-the-repository');
    await expectNoViolations(page);
    await inDialog('Connect Git repository').click();
    await dialog.waitFor({ state: 'detached' });
    await chooseSource('Rules', 'Edit source');
    await dialog.getByText('A token is stored.').waitFor();
    expect(await dialog.getByLabel('Access token').inputValue()).toBe('');
    await fill('File patterns', '**/*.md\n*.txt');
    await inDialog('Save source').click();
    await dialog.waitFor({ state: 'detached' });
    const { data } = await admin.get<object[]>(`/system/info/${siteBase}/source`);
    expect(data).toMatchObject([{ hasToken: true, patterns: ['**/*.md', '*.txt'] }]);
    site.close();
  });

  it('are closed to users without the permission, and read-only where a base is shared', async () => {
    const none = await makeRole(admin, 'no-knowledge', ['system:model:list']);
    await makeUser(console.plinth, admin, 'stranger', [none]);
    const stranger = await console.signedIn({ user: { name: 'stranger', password: PASSWORD } });
    await stranger.goto('/knowledge');
    await stranger.getByText('system:info:list').waitFor();

    const reading = ['system:info:*', 'system:attach:*', 'system:fragment:*'];
    await makeUser(console.plinth, admin, 'reader', [await makeRole(admin, 'reader', reading)]);
    const user = { name: 'reader', password: PASSWORD };
    const reader = await console.signedIn({ user, width: 390, language: 'zh' });
    await reader.goto(`/knowledge/${base}`);
    await reader.getByText('此知识库以只读方式共享给您').first().waitFor();
    await reader.getByText('warranty.md').waitFor();
    expect(await reader.getByRole('button', { name: '上传文档' }).count()).toBe(0);
    await expectNoViolations(reader);
  });

  it('let one who manages a base grant it, and choose the readers of a document', async () => {
    const permissions = ['system:info:*', 'system:attach:*'];
    const role = await makeRole(admin, 'granted', permissions);
    await makeUser(console.plinth, admin, 'greta', [role]);
    await page.goto('/knowledge');
    await choose('Tools', 'Access');
    const drawer = page.getByRole('dialog');
    const subjects = drawer.getByLabel('Users, roles and groups').and(page.locator('input'));
    await subjects.fill('greta');
    await page.getByRole('option', { name: 'greta (user)' }).click();
    await page.keyboard.press('Tab');
    await expectNoViolations(page);
    await drawer.getByRole('combobox', { name: 'Level of greta (user)' }).click();
    await page.getByRole('option', { name: 'Change' }).click();
    await drawer.getByRole('button', { name: 'Save access' }).click();
    await text('Saved. It applies from the next request on.').waitFor();

    const greta = await console.signedIn({ user: { name: 'greta', password: PASSWORD } });
    await greta.goto(`/knowledge/${base}`);
    await greta.getByRole('button', { name: 'Upload documents' }).waitFor();

    await page.goto(`/knowledge/${base}`);
    await choose('warranty.md', 'Access');
    await clickFace(drawer.getByRole('switch', { name: 'Only chosen readers' }));
    await expectNoViolations(page);
    await drawer.getByRole('button', { name: 'Save access' }).click();
    await drawer.waitFor({ state: 'detached' });
    const user = { name: 'reader', password: PASSWORD };
    const reader = await console.signedIn({ user });
    await reader.goto(`/knowledge/${base}`);
    await reader.getByText('opening-hours.md').waitFor();
    expect(await reader.getByText('warranty.md').count()).toBe(0);
  });
});
