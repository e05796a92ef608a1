import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CalculateTool } from '../../src/agent/tool/calculate.tool.js';
import { createAgent } from '../support/agents.js';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { sendChat } from '../support/chat.js';
import { done } from '../support/people.js';
import { calling } from '../support/scripted-model.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';

const COMPLETIONS = { path: '/chat/completions' };
const SHOTS = process.env['PLINTH_SHOTS'];

describeConsole('a call that waits for its user', () => {
  let console: Console;
  let admin: Session;

  beforeAll(async () => {
    console = await Console.open();
    admin = await console.plinth.signIn('admin', ADMIN_PASSWORD);
  });

  afterAll(() => console.close());

  it('is shown and decided in the chat, also after a reload', async () => {
    // No built-in tool changes anything, so the calculator stands in.
    const executed: unknown[] = [];
    Object.assign(console.plinth.app.get(CalculateTool, { strict: false }), {
      consent: 'ask',
      facts: { readOnly: false, idempotent: false, destructive: true },
      run: (input: unknown) => {
        executed.push(input);
        return Promise.resolve({ content: 'Order 7 is made.', summary: 'ordered' });
      },
    });
    const models = done(await admin.get<{ id: number; category: string }[]>('/system/model/list'));
    const modelId = models.rows.find(({ category }) => category === 'chat')?.id ?? 0;
    const agent = await createAgent(admin, modelId, { runtime: 'tools', tools: ['calculate'] });
    const sessionId = done(await admin.post<string>('/system/session', {})).data;
    console.simulator.script({
      match: COMPLETIONS,
      text: 'I order the bicycle.',
      ...calling('calculate', { expression: '7 * 6' }),
    });
    await sendChat(admin, { content: 'Order it', agentId: agent.id, sessionId, inline: false });

    const page = await console.signedIn();
    await page.goto(`/chat/${sessionId}`);
    const card = page.getByRole('region', { name: 'calculate waits for your consent' });
    await card.getByText('"expression": "7 * 6"').waitFor();
    await expectNoViolations(page);
    if (SHOTS) {
      await page.screenshot({ path: `${SHOTS}/desktop.png` });
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.screenshot({ path: `${SHOTS}/dark.png` });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 390, height: 844 });
      await page.screenshot({ path: `${SHOTS}/narrow.png` });
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    await page.reload();
    console.simulator.script({ match: COMPLETIONS, text: 'The bicycle is ordered.' });
    await card.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('The bicycle is ordered.').waitFor();
    await card.waitFor({ state: 'detached' });
    expect(executed).toEqual([{ expression: '7 * 6' }]);
    await page.close();
  });
});
