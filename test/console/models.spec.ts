import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendChat } from '../support/chat.js';
import { clickFace, Console, describeConsole, expectNoViolations } from '../support/console.js';
import { createModel } from '../support/models.js';
import { createKnowledge } from '../support/knowledge.js';
import { done, makeRole, makeUser, PASSWORD, roleId } from '../support/people.js';
import { eventually } from '../support/wait.js';

describeConsole('providers, models, agents and home in the console', () => {
  let console: Console;

  beforeAll(async () => {
    console = await Console.open();
  });

  afterAll(() => console.close());

  it('shows what is set up, how much is used and whether the parts are well', async () => {
    // Health says by its status when a part is slow, which a browser reports.
    console.expectProblems(/503.*health\/ready/);
    const page = await console.signedIn();
    await page.goto('/');
    await page.getByRole('heading', { name: 'Hello, admin' }).waitFor();
    await page.getByRole('heading', { name: 'Set up Plinth' }).waitFor();
    await page.getByRole('heading', { name: 'Use', exact: true }).waitFor();
    await page.getByText('Vector store').waitFor();
    await expectNoViolations(page);

    await page.getByRole('link', { name: 'Try the demo with a question' }).click();
    await page.getByText('How long is the warranty of a laptop?').waitFor();
    await page.getByRole('button', { name: 'Answered by Handbook clerk' }).waitFor();
    await page.goto('/');

    await page.getByRole('button', { name: 'Hide' }).click();
    await page.reload();

    await page.getByRole('heading', { name: 'Use', exact: true }).waitFor();
    expect(await page.getByRole('heading', { name: 'Set up Plinth' }).count()).toBe(0);
  });

  it('shows the last page of a list where the address names one that is not there', async () => {
    const page = await console.signedIn();

    await page.goto('/models?page=9');

    await page.getByRole('button', { name: /demo-rerank/ }).waitFor();
    await page.waitForURL('**/models');
    await page.close();
  });

  it('adds a provider and a model, copies the address, and says what is wrong with it', async () => {
    const page = await console.signedIn();
    await page.goto('/providers');
    await page.getByRole('button', { name: 'Add provider' }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('button', { name: 'Add provider' }).click();
    await drawer.getByText('Enter a name.').waitFor();
    await drawer.getByLabel('Name').fill('Gateway');
    await drawer.getByLabel('Code').fill('deepseek');
    await drawer.getByLabel('Address').fill('http://127.0.0.1:9/v1');
    await page.keyboard.press('Escape');
    await drawer.getByRole('button', { name: 'Add provider' }).click();
    await page.getByRole('button', { name: 'Gateway', exact: true }).waitFor();
    await expectNoViolations(page);

    await page.goto('/models/new');
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Gateway' }).click();
    expect(await page.getByLabel('Address').inputValue()).toBe('http://127.0.0.1:9/v1');
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Offline demo (chat-completions)' }).click();
    expect(await page.getByLabel('Address').inputValue()).toBe('');
    await page.getByLabel('Address').fill('http://10.0.0.9:8000/v1');
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Offline demo (messages)' }).click();
    expect(await page.getByLabel('Address').inputValue()).toBe('http://10.0.0.9:8000/v1');
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Gateway' }).click();
    await page.getByLabel('Key', { exact: true }).fill('secret-key');
    await page.getByRole('textbox', { name: 'Model' }).fill('closed-door');
    // What is not saved is not left behind unasked; what is saved goes on to its own address.
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('button', { name: 'Stay on page' }).click();
    await page.getByRole('button', { name: 'Save and test' }).click();

    await page.getByText('The model cannot be used yet').waitFor();
    expect(await page.getByText('A key is stored.').count()).toBe(1);
    expect(await page.content()).not.toContain('secret-key');
    await expectNoViolations(page);
  });

  it('offers the models of the service, and fills in what is known of them where nothing was entered', async () => {
    const admin = await console.plinth.signIn();
    const { url } = console.simulator;
    const provider = { providerName: 'Router', providerCode: 'openrouter', apiHost: url };
    done(await admin.post('/system/provider', provider));
    const at = { providerCode: 'openrouter', apiHost: url, apiKey: 'a-key' };
    await createModel(admin, { ...at, modelName: 'keyed' });
    const pricing = { prompt: '0.000002', completion: '0.000008' };
    const list = [
      { id: 'maker/large', name: 'Large', context_length: 64_000, pricing },
      { id: 'maker/embedding-small', context_length: 8_000 },
    ];
    console.simulator.script({
      match: { path: '/api/v1/models' },
      body: JSON.stringify({ data: list }),
    });
    const page = await console.signedIn();
    await page.goto('/models/new');
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Router' }).click();
    await page.getByLabel('Output price').fill('5');
    const offered = page.getByRole('combobox', { name: 'Offered by the service' });
    await offered.click();
    await page.getByRole('option', { name: 'Large (maker/large)' }).waitFor();
    expect(await page.getByRole('option', { name: /embedding-small/ }).count()).toBe(0);
    await expectNoViolations(page);
    await page.getByRole('option', { name: 'Large (maker/large)' }).click();
    expect(await page.getByRole('textbox', { name: 'Model' }).inputValue()).toBe('maker/large');
    expect(await page.getByLabel('Context window').inputValue()).toBe('64,000');
    expect(await page.getByLabel('Input price', { exact: true }).inputValue()).toBe('2');
    expect(await page.getByLabel('Output price').inputValue()).toBe('5');

    // A service that refuses to list them says why.
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Gateway' }).click();
    await page.getByText('The service could not be reached').waitFor();
    await page.close();
  });

  it('tests a model that works, from the list', async () => {
    const page = await console.signedIn({ theme: 'dark', language: 'zh' });
    await page.goto('/models?category=chat');
    const row = page.getByRole('row', { name: /demo-chat/ }).first();
    await row.getByRole('button', { name: '操作' }).click();
    await page.getByRole('menuitem', { name: '测试模型' }).waitFor();
    await expectNoViolations(page);
    await page.getByRole('menuitem', { name: '测试模型' }).click();
    await page.getByText('模型可用').waitFor();
    await expectNoViolations(page);
  });

  it('gives a model fallbacks and further keys, and shows what is passed over', async () => {
    const admin = await console.plinth.signIn();
    const at = { apiHost: `${console.simulator.url}/v1`, apiKey: 'first-secret' };
    const refused = 'sim--status-401';
    const spare = await createModel(admin, { ...at, modelName: 'sim--chunks-3' });
    const known = { contextWindow: 8_000, inputPrice: 2, supportsTools: true };
    const id = await createModel(admin, { ...at, ...known, modelName: refused });
    const page = await console.signedIn();
    await page.goto(`/models/${id}`);
    await page.getByRole('combobox', { name: 'Fallback models' }).fill('chunks-3');
    await page.getByRole('option', { name: 'sim--chunks-3 (custom_api)' }).click();
    await page.keyboard.press('Escape');
    const keys = page.getByRole('group', { name: 'Further keys' });
    await keys.getByRole('button', { name: 'Add key' }).click();
    await page.getByRole('button', { name: 'Save model' }).click();
    await keys.getByText('Enter the key.').waitFor();
    await keys.getByLabel('Name', { exact: true }).fill('Second account');
    await keys.getByLabel('Key', { exact: true }).fill('second-secret');
    await keys.getByLabel('Weight', { exact: true }).fill('3');
    await page.getByRole('button', { name: 'Save model' }).click();
    await keys.getByPlaceholder('Stored').waitFor();
    await expectNoViolations(page);
    expect((await admin.get<object>(`/system/model/${id}`)).data).toMatchObject({
      fallbackIds: [spare],
      keys: [{ label: 'Second account', weight: 3, enabled: true }],
    });

    // Saved again, the stored key is kept and not made twice.
    await clickFace(keys.getByRole('switch', { name: 'Used' }));
    await page.getByRole('button', { name: 'Save model' }).click();
    await eventually(
      async () => (await admin.get<{ keys: object[] }>(`/system/model/${id}`)).data.keys,
      ([key, ...more]) => more.length === 0 && JSON.stringify(key).includes('"enabled":false'),
    );
    // Until the page knows it, too, a reload brings back what was typed.
    await eventually(
      () => page.evaluate<string[]>('Object.keys(sessionStorage)'),
      (keys) => !keys.some((key) => key.startsWith('plinth.form.')),
    );
    const { text } = await sendChat(admin, { model: refused, content: 'Hello' });
    expect(text.trim()).toBe('tok0 tok1 tok2');
    await page.reload();
    await page.getByText('Key of the model: the service does not accept the key').waitFor();
    expect(await page.content()).not.toContain('second-secret');
    await expectNoViolations(page);

    // What is emptied is unknown from then on.
    await page.getByLabel('Context window').fill('');
    await page.getByLabel('Input price', { exact: true }).fill('');
    await page.getByRole('combobox', { name: 'Supports tools' }).click();
    await page.getByRole('option', { name: 'Unknown' }).click();
    await keys.getByRole('button', { name: 'Remove key Second account' }).click();
    await page.getByRole('button', { name: 'Save model' }).click();
    const emptied = { contextWindow: null, inputPrice: null, supportsTools: null, keys: [] };
    await eventually(
      async () => (await admin.get<object>(`/system/model/${id}`)).data,
      (data) => isDeepStrictEqual(data, { ...data, ...emptied }),
    );
    // Until the page knows it, too, it asks before it is left.
    await page.getByText(/^Done\./).waitFor();

    await page.getByRole('link', { name: 'Providers', exact: true }).click();
    await page.getByRole('heading', { name: 'Providers', level: 1 }).waitFor();
  });

  it('says before a provider is disabled what that does, and keeps the filter after a reload', async () => {
    const page = await console.signedIn();
    await page.goto('/providers?q=ollama');
    const toggle = page.getByLabel('Offline demo (ollama) enabled');
    await clickFace(toggle);
    await page.getByText('new calls through them are refused').waitFor();
    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await page.getByText(/models? uses? ollama and cannot be called/).waitFor();

    await page.reload();

    await toggle.waitFor({ state: 'attached' });
    expect(await toggle.isChecked()).toBe(false);
    expect(await page.getByRole('row').count()).toBe(2);
  });

  it('makes an agent with tools and shows why it cannot be saved', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    const offered = page.getByRole('list', { name: 'Agents' }).getByRole('button');
    await offered.getByText('Handbook clerk').waitFor();
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('link', { name: 'Add agent' }).click();
    await page.getByRole('button', { name: 'Save agent' }).click();
    // The first field that needs a correction is above, where the page began.
    await page.getByLabel('Name').and(page.locator(':focus')).waitFor();
    await page.getByText('Choose a model.').waitFor();
    await page.getByLabel('Name').fill('Calculator');
    await page.getByRole('combobox', { name: 'Model' }).click();
    await page.getByRole('option', { name: 'Offline demo: chat', exact: true }).click();
    await page.getByRole('radio', { name: 'Use tools' }).check();
    await page.getByRole('checkbox', { name: 'calculate' }).check();
    await expectNoViolations(page);
    await page.getByRole('button', { name: 'Save agent' }).click();
    await page.getByRole('heading', { name: 'Calculator' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Chat', exact: true }).click();
    await offered.getByText('Calculator').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Calculator' }).waitFor();

    await page.reload();

    await page.getByRole('checkbox', { name: 'calculate' }).waitFor();
    expect(await page.getByRole('checkbox', { name: 'calculate' }).isChecked()).toBe(true);
  });

  it('asks what to keep when two people have edited an agent', async () => {
    const admin = await console.plinth.signIn();
    const { data: agents } = await admin.get<{ id: number }[]>('/agent/agent/agentOptions');
    const id = agents[0]?.id;
    const page = await console.signedIn();
    await page.goto(`/agents/${id}`);
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('My name');
    const theirs = { agentName: 'Their name', agentDescribe: 'Their description' };
    done(await admin.put('/agent/agent', { id, ...theirs }));
    const save = page.getByRole('button', { name: 'Save agent' });
    await save.click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Someone else has changed this' });
    await conflict.getByText('Their description').waitFor();
    await conflict.getByRole('radio', { name: 'Theirs' }).waitFor();
    await expectNoViolations(page);
    await conflict.getByRole('button', { name: 'Apply the choice' }).click();
    expect(await name.inputValue()).toBe('My name');
    await save.click();
    const stored = () => admin.get<Record<string, unknown>>(`/agent/agent/${id}`);
    await eventually(stored, ({ data }) => data['agentName'] === 'My name');
    expect((await stored()).data).toMatchObject({ agentDescribe: 'Their description' });
    await page.close();
  });

  it('names the bases that an agent lost with their sharing', async () => {
    const admin = await console.plinth.signIn();
    const role = await makeRole(admin, 'makes-agents', ['agent:agent:*', 'system:info:*']);
    const { session: creator } = await makeUser(console.plinth, admin, 'agent-maker', [role]);
    const { rows: models } =
      await admin.get<{ id: number; modelName: string; category: string }[]>('/system/model/list');
    const modelId = models.find(({ category }) => category === 'chat')?.id;
    const embeddingModel = models.find(({ category }) => category === 'vector')?.modelName;
    const base = { name: 'Lost handbook', share: 1, embeddingModel };
    const baseId = await createKnowledge(admin, base);
    const agent = { agentName: 'Reader', modelId, knowledgeIds: [baseId] };
    done(await creator.post('/agent/agent', agent));
    const { rows: agents } =
      await creator.get<{ id: number; agentName: string }[]>('/agent/agent/list');
    const id = agents.find(({ agentName }) => agentName === 'Reader')?.id;
    done(await admin.put('/system/info', { id: baseId, share: 0 }));
    const page = await console.signedIn({ user: { name: 'agent-maker', password: PASSWORD } });
    await page.goto(`/agents/${id}`);
    const alert = page.getByText('does not search these knowledge bases');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('Lost handbook');
    await expectNoViolations(page);
    await page.close();
  });

  it('says what used a deleted model, and which models a deleted provider leaves', async () => {
    const admin = await console.plinth.signIn();
    const apiHost = `${console.simulator.url}/v1`;
    const modelId = await createModel(admin, { apiHost, apiKey: 'a-secret', modelName: 'leaving' });
    done(await admin.post('/agent/agent', { agentName: 'Left', modelId }));
    const page = await console.signedIn();
    await page.goto('/models?q=leaving');
    await page
      .getByRole('row', { name: 'leaving' })
      .getByRole('button', { name: 'Actions' })
      .click();
    await page.getByRole('menuitem', { name: 'Delete model' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete model' }).click();
    await page.getByText('1 agent uses leaving. Choose another model for it.').waitFor();

    const chinese = await console.signedIn({ language: 'zh' });
    await chinese.goto('/providers?q=media+as');
    await chinese.getByRole('button', { name: '操作' }).click();
    await chinese.getByRole('menuitem', { name: '删除 1 个供应商' }).click();
    await chinese.getByRole('dialog').getByRole('button', { name: '删除 1 个供应商' }).click();
    await chinese.getByText(/3 个模型使用 media_async/).waitFor();
  });

  it('tells a user which permission a page needs, and offers only what is allowed', async () => {
    const admin = await console.plinth.signIn();
    // One of the logs opens the page that shows them all.
    const log = await makeRole(admin, 'log-reader', ['monitor:logininfor:list']);
    await makeUser(console.plinth, admin, 'reader', [await roleId(admin, 'user'), log]);
    const page = await console.signedIn({ user: { name: 'reader', password: PASSWORD } });
    await page.goto('/providers');
    await page.getByText('system:provider:list').waitFor();
    expect(await page.getByRole('link', { name: 'Providers' }).count()).toBe(0);
    await expectNoViolations(page);

    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('table', { name: 'Sign-in log' }).getByText('reader').first().waitFor();
  });

  it('shows a failure of the service with its request id, and tries again', async () => {
    console.expectProblems(/500/);
    const page = await console.signedIn();
    let broken = true;
    await page.route('**/system/model/list?**', (route) =>
      broken
        ? route.fulfill({
            headers: { 'content-type': 'application/json', 'x-request-id': 'request-7' },
            body: JSON.stringify({ code: 500, msg: 'The disk is full.', data: null }),
          })
        : route.continue(),
    );
    await page.goto('/models');
    await page.getByText('The disk is full.').waitFor();
    await page.getByText('request-7').waitFor();
    broken = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('demo-embedding-384').waitFor();
  });
});
