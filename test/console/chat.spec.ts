import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page, Route } from 'playwright-core';
import { Database } from '../../src/platform/database/index.js';
import { OpenChat } from '../support/chat.js';
import { Console, describeConsole, expectNoViolations } from '../support/console.js';
import { done, makeRole, makeUser, PASSWORD } from '../support/people.js';
import { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';
import { HOSTILE_MARKDOWN } from './hostile-markdown.js';

const COMPLETIONS = { path: '/chat/completions' };
const NUMBERS = Array.from({ length: 40 }, (_, number) => `word${number}`).join(' ');

interface Stored {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly files: readonly { readonly name: string; readonly state: string }[];
}

describeConsole('the chat', () => {
  let console: Console;
  let admin: Session;

  beforeAll(async () => {
    console = await Console.open();
    admin = await console.plinth.signIn('admin', ADMIN_PASSWORD);
  });

  afterAll(() => console.close());

  afterEach(() => console.simulator.reset());

  async function newSession(sessionTitle: string): Promise<string> {
    return done(await admin.post<string>('/system/session', { sessionTitle })).data;
  }

  async function stored(sessionId: string): Promise<Stored[]> {
    const path = `/system/message/list?sessionId=${sessionId}&inline=false`;
    return done(await admin.get<Stored[]>(path)).rows;
  }

  function sessionOf(page: Page): string {
    return new URL(page.url()).pathname.split('/').at(-1) ?? '';
  }

  it('answers after one click and one typed line', async () => {
    const page = await console.signedIn();
    await page.goto('/');
    console.simulator.script({ match: COMPLETIONS, text: NUMBERS, stall: 6 });

    await page.getByRole('link', { name: 'Chat', exact: true }).click();
    await composer(page).fill('How long is the warranty?');
    await composer(page).press('Enter');

    await answers(page).last().getByText('word2').waitFor();
    await page.getByRole('button', { name: 'Stop answer' }).click();
    await page.getByText('You stopped the answer here.').waitFor();
    expect((await stored(sessionOf(page))).map(({ role, state }) => [role, state])).toEqual([
      ['user', 'complete'],
      ['assistant', 'stopped'],
    ]);
    await page.getByRole('link', { name: 'How long is the warranty?' }).waitFor();

    // As where the operator records traces.
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const copyTrace = page.getByRole('button', { name: 'Copy trace id' });
    expect(await copyTrace.count()).toBe(0);
    await console.plinth.app
      .get(Database)
      .query(
        `UPDATE chat_message SET trace_id = $1 WHERE tenant_id = '000000' AND session_id = $2`,
        [traceId, sessionOf(page)],
      );
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.reload();
    await copyTrace.click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(traceId);
    await page.close();
  });

  it('holds a temporary chat, which no list shows and which ends with a click', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    await page.getByRole('switch', { name: 'Temporary chat' }).click();
    await page.getByText('In no list, and removed when you end it').waitFor();
    await expectNoViolations(page);
    await composer(page).fill('What is said between us?');
    await composer(page).press('Enter');
    await page.getByText('Temporary chat: in no list, and removed within a day.').waitFor();
    await answers(page).last().waitFor();
    const sessionId = sessionOf(page);
    await eventually(
      () => stored(sessionId),
      (messages) => messages.length === 2,
    );
    expect(await page.getByRole('link', { name: 'What is said between us?' }).count()).toBe(0);
    await expectNoViolations(page);
    await page.getByRole('button', { name: 'End chat' }).click();
    await page.getByText('The chat is deleted.').waitFor();
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    expect(await admin.get(`/system/session/${sessionId}`)).toMatchObject({ code: 404 });
    await page.close();
  });

  it('begins with the wishes of the address, cites sources and shows them in their document', async () => {
    const page = await console.signedIn({ width: 1600 });
    const { data: agents } = await admin.get<{ id: number }[]>('/agent/agent/agentOptions');
    await page.goto(
      `/chat?agent=${agents[0]?.id}&draft=${encodeURIComponent('How long is the warranty of a laptop?')}`,
    );
    await page.getByRole('heading', { name: 'What would you like to know?' }).waitFor();
    await expectNoViolations(page);
    expect(await composer(page).inputValue()).toBe('How long is the warranty of a laptop?');
    await page.getByRole('button', { name: 'Send message' }).click();

    await page.getByRole('button', { name: /^Source 1: equipment/ }).click();
    const panel = page.getByRole('region', { name: 'Source', exact: true });
    await panel.locator('mark').getByText('warranty of three years').waitFor();
    // The text of a source is rendered: the document has headings.
    const text = panel.getByRole('region', { name: /^Text of/ });
    await text.getByRole('heading').first().waitFor();
    expect(await text.innerText()).not.toMatch(/^#+ /m);
    await panel.getByRole('button', { name: 'Download source' }).waitFor();
    await expectNoViolations(page);
    const download = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Download source' }).click();
    expect((await download).suggestedFilename()).toBe('equipment.md');
    await panel.getByRole('button', { name: 'Close source' }).click();

    await page.getByRole('button', { name: 'Good answer' }).click();
    await page.locator('[aria-label="Good answer"][aria-pressed=true]').waitFor();
    const [, answer] = await stored(sessionOf(page));
    expect(answer).toMatchObject({ feedback: { vote: 'up' } });
    await page.close();
  });

  it('takes the question right after the choice of an agent', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');

    await page.getByRole('button', { name: /^Answered by/ }).click();
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('thinking');
    await page.getByRole('option', { name: /thinking/ }).waitFor();
    await page.getByRole('option', { name: /Handbook clerk/ }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: /^Handbook clerk/ }).click();
    await page.keyboard.type('How long?');

    expect(await composer(page).inputValue()).toBe('How long?');
    await page.close();
  });

  it('edits a question and answers again, in branches', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    console.simulator.script({ match: COMPLETIONS, text: 'first answer' });
    await send(page, 'first question');
    await answers(page).getByText('first answer').waitFor();

    console.simulator.script({ match: COMPLETIONS, text: 'second answer' });
    await page.getByRole('button', { name: 'Answer again' }).click();
    await answers(page).getByText('second answer').waitFor();
    await page.getByLabel('Version 2 of 2').waitFor();
    // An arrow that leads nowhere is paler than one that does, in both themes.
    const contrastOf = (name: string, theme: string): Promise<number> =>
      page.evaluate<number>(`(() => {
        document.documentElement.dataset.mantineColorScheme = '${theme}';
        for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
        const { color, backgroundColor } = getComputedStyle(document.querySelector('[aria-label="${name}"]'));
        if (backgroundColor !== 'rgba(0, 0, 0, 0)') return -1;
        const sum = (text) => text.match(/[\\d.]+/g).slice(0, 3).reduce((all, part) => all + Number(part), 0);
        return Math.abs(sum(color) - sum(getComputedStyle(document.body).backgroundColor));
      })()`);
    for (const theme of ['dark', 'light']) {
      const dead = await contrastOf('Next version', theme);
      expect(dead).toBeGreaterThan(0);
      expect(dead).toBeLessThan(await contrastOf('Previous version', theme));
    }
    await page.getByRole('button', { name: 'Previous version' }).click();
    await answers(page).getByText('first answer').waitFor();

    console.simulator.script({ match: COMPLETIONS, text: 'third answer' });
    await page.getByRole('article', { name: 'Question' }).hover();
    await page.getByRole('button', { name: 'Edit question' }).click();
    await page.getByRole('textbox', { name: 'Edit question' }).fill('another question');
    await page.getByRole('button', { name: 'Send again' }).click();
    await answers(page).getByText('third answer').waitFor();
    await page.getByLabel('Version 2 of 2').waitFor();
    expect((await stored(sessionOf(page))).map(({ content }) => content)).toEqual([
      'another question',
      'third answer',
    ]);
    // A hit of the search is on a branch that is not the current one.
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('second answer');
    await page.getByRole('region', { name: 'In messages' }).getByRole('link').click();
    await answers(page).getByText('second answer').waitFor();
    await page.close();
  });

  it('shows thinking folded and what tools did, also after a reload', async () => {
    const sessionId = await newSession('Thoughts');
    const page = await console.signedIn();
    await page.goto(`/chat/${sessionId}`);
    console.simulator.script({
      match: COMPLETIONS,
      reasoning: 'Let me think.',
      text: 'Formula: $x^2$',
    });
    await send(page, 'Think!');
    await page.getByRole('button', { name: /^Thought for/ }).click();
    await page.getByText('Let me think.').waitFor();
    await page.locator('.katex').first().waitFor();

    await page.reload();

    await page.getByRole('button', { name: 'Thoughts', exact: true }).waitFor();
    await page.locator('.katex').first().waitFor();
    expect(await page.getByText('Let me think.').count()).toBe(0);
    await page.close();
  });

  it('goes on with an answer after a reload in mid-stream, and keeps what was typed', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    console.simulator.script({ match: COMPLETIONS, text: NUMBERS, delayMs: 200 });
    await send(page, 'Count slowly');
    await answers(page).getByText('word4').waitFor();
    await composer(page).fill('my next thought');

    await page.reload();

    await answers(page).getByText('word4').waitFor();
    expect(await page.getByRole('button', { name: 'Stop answer' }).count()).toBe(1);
    await expectNoViolations(page);
    await answers(page).getByText('word39').waitFor();
    await page.getByRole('button', { name: 'Answer again' }).first().waitFor();
    expect(await answers(page).count()).toBe(1);
    expect(await composer(page).inputValue()).toBe('my next thought');
    const messages = await stored(sessionOf(page));
    expect(messages.map(({ state }) => state)).toEqual(['complete', 'complete']);
    expect(messages[1]?.content).toBe(NUMBERS);
    expect(await answers(page).innerText()).toContain(NUMBERS);

    console.simulator.script({ match: COMPLETIONS, text: 'all numbers', stall: 2 });
    await page.getByRole('button', { name: 'Answer again' }).first().click();
    await answers(page).getByText('all').waitFor();
    await page.reload();
    await answers(page).getByText('all').waitFor();
    await page.getByRole('button', { name: 'Stop answer' }).click();
    await page.getByText('You stopped the answer here.').waitFor();
    await page.close();
  });

  it('goes on with an answer when its connection was lost', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    console.expectProblems(
      /\/chat\/(send|turns\/[\w-]+\/stream) net::/,
      /ERR_(INCOMPLETE|CONNECTION|NETWORK|EMPTY|INTERNET)/,
    );
    console.simulator.script({ match: COMPLETIONS, text: NUMBERS, delayMs: 200 });
    await send(page, 'Count, please');
    await answers(page).getByText('word4').waitFor();

    await page.context().setOffline(true);
    (console.plinth.app.getHttpServer() as { closeAllConnections(): void }).closeAllConnections();

    await answers(page).getByText('Connecting again').waitFor();
    await page.context().setOffline(false);
    await answers(page).getByText('word39').waitFor();
    await page.getByRole('button', { name: 'Answer again' }).first().waitFor();
    expect(await answers(page).innerText()).toContain(NUMBERS);
    expect((await stored(sessionOf(page)))[1]).toMatchObject({ state: 'complete' });
    await page.close();
  });

  it('says why a provider failed, and answers again', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    console.simulator.script({ match: COMPLETIONS, status: 400 });
    await send(page, 'Will this work?');
    await page.getByText('No answer').waitFor();
    await expectNoViolations(page);
    console.simulator.script({ match: COMPLETIONS, text: 'now it works' });
    await page.getByRole('alert').getByRole('button', { name: 'Answer again' }).click();
    await answers(page).getByText('now it works').waitFor();
    await page.close();
  });

  it('gives a refused message back', async () => {
    const page = await console.signedIn();
    await page.goto('/chat?model=no-such-model&knowledge=987654&draft=Precious');
    await page.getByRole('button', { name: 'Answered by no-such-model' }).waitFor();
    const base = page.getByRole('button', { name: 'Knowledge base: Not listed (no. 987654)' });
    await base.waitFor();
    await page.getByRole('button', { name: 'Send message' }).click();

    await page.getByRole('alert').getByText('The message was not sent').waitFor();
    await expect(composer(page).inputValue()).resolves.toBe('Precious');
    await base.click();
    await page.getByRole('option', { name: 'No knowledge base' }).click();
    await page.getByRole('button', { name: 'Choose a knowledge base' }).waitFor();
    await page.close();
  });

  it('waits for the answer to a request that has arrived although its connection was lost', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    console.simulator.script({ match: COMPLETIONS, text: 'first answer' });
    await send(page, 'Did this arrive?');
    await answers(page).getByText('first answer').waitFor();
    console.expectProblems(/ERR_CONNECTION_RESET/);
    console.simulator.script({ match: COMPLETIONS, hold: true, text: 'late but whole' });
    const said: Promise<string>[] = [];
    await page.route('**/chat/send', async (route) => {
      const answer = route.fetch({ timeout: 0 });
      said.push(answer.then((response) => response.text()));
      if (said.length > 1) {
        await route.fulfill({ response: await answer });
        return;
      }
      await eventually(
        () => console.simulator.held,
        (count) => count > 0,
      );
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Answer again' }).click();
    await eventually(
      () => said.length,
      (count) => count > 1,
    );

    console.simulator.release();

    await answers(page).getByText('late but whole').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    // Both have read the same turn.
    const turns = (await Promise.all(said)).map((text) => /"turnId":"[\w-]+"/.exec(text)?.[0]);
    expect(new Set(turns).size).toBe(1);
    expect(await said[0]).toContain('"done":true');
    await page.close();
  });

  it('keeps what was typed when the sign-in has ended', async () => {
    const page = await console.signedIn();
    await page.goto('/chat');
    console.simulator.script({ match: COMPLETIONS, text: 'hello' });
    await send(page, 'Hello');
    await answers(page).getByText('hello').waitFor();
    const sessionId = sessionOf(page);
    const held = await page.evaluate(`localStorage.getItem('plinth.session')`);
    const { token, clientId } = JSON.parse(String(held)) as Record<'token' | 'clientId', string>;
    // The message is on its way when the sign-in ends: whatever else notices the end first, it is not sent any more.
    await page.route('**/chat/send', async (route) => {
      const headers = { authorization: `Bearer ${token}`, clientid: clientId };
      done(await new Session(console.url, headers).post('/auth/logout'));
      await route.continue();
    });
    const answered = page.waitForResponse('**/chat/send');
    await send(page, 'Do not lose this');
    expect(await (await answered).json()).toMatchObject({ code: 401 });
    const over = page.getByRole('dialog', { name: 'Your sign-in has ended' });
    await expectNoViolations(page);
    await over.locator('input[type=password]').fill(ADMIN_PASSWORD);
    await over.getByRole('button', { name: 'Sign in', exact: true }).click();
    await over.waitFor({ state: 'detached' });
    expect(sessionOf(page)).toBe(sessionId);
    await composer(page).waitFor();
    expect(await composer(page).inputValue()).toBe('Do not lose this');
    await page.close();
  });

  it('keeps what was typed and attached when another session is looked at', async () => {
    const sessionId = await newSession('Half a question');
    await newSession('Something else');
    const page = await console.signedIn();
    await page.goto(`/chat/${sessionId}`);
    const link = (title: string) => page.getByRole('link', { name: title, exact: true });
    const opened = (title: string) =>
      page.locator('nav a[aria-current=page]', { hasText: title }).waitFor();
    const open = async (title: string): Promise<void> => {
      await link(title).click();
      await opened(title);
    };
    await composer(page).waitFor();
    await link('Something else').waitFor();
    // Another session is opened in the moment of the last letter.
    await page.evaluate(`{
      const field = document.querySelector('textarea');
      field.value = 'Compare';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      document.querySelector('a[title="Something else"]').click();
    }`);
    await opened('Something else');
    await open('Half a question');
    expect(await composer(page).inputValue()).toBe('Compare');

    const holdUpload = async (name: string): Promise<() => Promise<void>> => {
      const address = '**/resource/oss/upload';
      const { promise: held, resolve: hold } = Promise.withResolvers<Route>();
      await page.route(address, hold, { times: 1 });
      const file = { name, mimeType: 'text/plain', buffer: Buffer.from('12') };
      await page.locator('input[type=file]').setInputFiles(file);
      await page.getByRole('button', { name: `Cancel upload of ${name}` }).waitFor();
      await open('Something else');
      return async () => {
        const answered = page.waitForResponse(address);
        await (await held).continue();
        await answered;
      };
    };
    const endFirst = await holdUpload('prices.txt');
    await endFirst();
    await open('Half a question');
    await page.getByRole('button', { name: 'Remove prices.txt' }).waitFor();
    expect(await composer(page).inputValue()).toBe('Compare');

    const endSecond = await holdUpload('costs.txt');
    await open('Half a question');
    await composer(page).fill('Compare these');
    await endSecond();
    await page.getByRole('button', { name: 'Remove costs.txt' }).waitFor();
    await page.getByRole('button', { name: 'Remove prices.txt' }).waitFor();
    expect(await composer(page).inputValue()).toBe('Compare these');
    await page.close();
  });

  it('checks files when they are attached, also dropped ones, and answers without a bad one', async () => {
    const page = await console.signedIn();
    const sessionId = await newSession('Attached');
    await page.goto(`/chat/${sessionId}`);
    await composer(page).waitFor();
    console.simulator.script({ match: COMPLETIONS, text: 'first answer' });
    await send(page, 'Hello');
    await answers(page).getByText('first answer').waitFor();

    await dropOn(page.getByRole('log', { name: 'Messages' }), {
      'code.md': 'The code is marigold.',
      'broken.pdf': '%PDF-1.7 nothing more',
      'photo.png': '\u0089PNG\r\n\u001a\n is no image',
    });
    await page.getByText('The file broken.pdf cannot be read.').waitFor();
    await page.getByRole('button', { name: 'Remove code.md' }).waitFor();
    await page.getByRole('button', { name: 'Remove photo.png' }).click();
    await expectNoViolations(page);
    console.simulator.script({ match: COMPLETIONS, text: 'marigold' });
    await composer(page).fill('What is the code?');
    await page.getByRole('button', { name: 'Send message' }).click();
    await answers(page).getByText('marigold').waitFor();
    const asked = page.getByRole('article', { name: 'Question' }).last();
    await asked.getByText('The file broken.pdf cannot be read.').waitFor();
    const files = async (): Promise<string[]> =>
      (await stored(sessionId))
        .findLast(({ role }) => role === 'user')
        ?.files.map(({ name, state }) => `${name} ${state}`) ?? [];
    expect((await files()).sort()).toEqual(['broken.pdf failed', 'code.md quoted']);

    await asked.hover();
    await asked.getByRole('button', { name: 'Edit question' }).click();
    await page.getByRole('button', { name: 'Remove broken.pdf' }).click();
    console.simulator.script({ match: COMPLETIONS, text: 'still marigold' });
    await page.getByRole('button', { name: 'Send again' }).click();
    await answers(page).getByText('still marigold').waitFor();
    expect(await files()).toEqual(['code.md quoted']);
    await page.close();
  });

  it('shows an answer in every tab of its session', async () => {
    const page = await console.signedIn();
    const sessionId = await newSession('Two tabs');
    await page.goto(`/chat/${sessionId}`);
    await composer(page).waitFor();
    const other = await page.context().newPage();
    await other.goto(`/chat/${sessionId}`);
    await composer(other).waitFor();

    console.simulator.script({ match: COMPLETIONS, text: NUMBERS, stall: 8 });
    await send(page, 'For both');
    await answers(other).getByText('word4').waitFor();
    await other.getByRole('button', { name: 'Stop answer' }).click();

    for (const tab of [page, other]) {
      await tab.getByText('You stopped the answer here.').waitFor();
      expect(await answers(tab).count()).toBe(1);
    }

    console.simulator.script({ match: COMPLETIONS, text: NUMBERS, delayMs: 200 });
    await send(page, 'And for the one that stays');
    await answers(other).last().getByText('word4').waitFor();
    await page.close();
    // The answer goes on, and the other tab reads it itself.
    await answers(other).last().getByText('word39').waitFor();
    await other.getByRole('button', { name: 'Send message' }).waitFor();
    await other.close();
  });

  it('waits for an answer that is written elsewhere', async () => {
    const sessionId = await newSession('Elsewhere');
    console.simulator.script({ match: COMPLETIONS, text: NUMBERS, stall: 8 });
    const chat = await OpenChat.send(admin, { sessionId, content: 'From a script' });
    await chat.until('word4');
    const page = await console.signedIn();
    await page.goto(`/chat/${sessionId}`);

    await page.getByText('An answer is being written in this session').waitFor();
    await page.getByRole('button', { name: 'Stop answer' }).click();

    await answers(page).getByText('word4').waitFor();
    await chat.rest();
    await page.close();
  });

  it('renames, finds and deletes sessions, undoes a deletion, and deletes before a sign-out', async () => {
    const first = await newSession('Holiday plans');
    await newSession('Tax return');
    const page = await console.signedIn();
    await page.goto('/chat');
    await page.getByRole('button', { name: 'Actions for Holiday plans' }).click();
    await page.getByRole('menuitem', { name: 'Rename session' }).click();
    await page.getByRole('textbox', { name: 'Name of the session' }).fill('Summer plans');
    await page.getByRole('textbox', { name: 'Name of the session' }).press('Enter');
    await page.getByRole('link', { name: 'Summer plans' }).waitFor();

    await page.getByRole('searchbox', { name: 'Search chats' }).fill('summer');
    await page.getByRole('link', { name: 'Tax return' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Actions for Summer plans' }).click();
    const remove = page.getByRole('menuitem', { name: 'Delete session' });
    const undo = page.getByRole('button', { name: 'Undo' });
    await remove.click();
    await page.getByText('No session has this in its name.').waitFor();
    await undo.click();
    await page.getByRole('link', { name: 'Summer plans' }).waitFor();
    const { data } = await admin.get<{ sessionTitle: string }>(`/system/session/${first}`);
    expect(data.sessionTitle).toBe('Summer plans');

    await page.getByRole('button', { name: 'Actions for Summer plans' }).click();
    await remove.click();
    await undo.waitFor();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL(/\/sign-in/);
    await page.locator('button[type=submit]').waitFor();
    await undo.waitFor({ state: 'detached' });
    expect(await admin.get(`/system/session/${first}`)).toMatchObject({ code: 404 });
    await page.close();
  });

  it('finds messages of all sessions, and opens them at their place', async () => {
    const sessionId = await newSession('Found by its words');
    const me = done(await admin.get<{ userId: number }[]>('/system/user/list?userName=admin'))
      .rows[0];
    const [{ id: buried } = { id: '' }] = await console.plinth.app
      .get(Database)
      .query<{ id: string }>(
        `WITH added AS (
         INSERT INTO chat_message (tenant_id, user_id, session_id, role, content)
         SELECT '000000', $1, $2, CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END,
                CASE n WHEN 300 THEN repeat('Before. ', 30) || 'The Zebrafish swims.' ELSE 'other ' || n END
         FROM generate_series(1, 1300) n RETURNING id, content)
       SELECT id FROM added WHERE content LIKE '%Zebrafish%'`,
        [me?.userId, sessionId],
      );
    const page = await console.signedIn();
    await page.goto('/chat');
    const search = page.getByRole('searchbox', { name: 'Search chats' });
    await search.fill('zebrafish');
    const hits = page.getByRole('region', { name: 'In messages' });
    const hit = hits.getByRole('link', { name: 'Found by its words' });
    await hit.waitFor();
    expect(await hit.locator('mark').textContent()).toBe('Zebrafish');
    await expectNoViolations(page);
    await hit.click();
    await page.getByRole('article').getByText('The Zebrafish swims.').waitFor();
    expect(page.url()).toContain(`/chat/${sessionId}?message=${buried}`);
    await page.close();
  });

  it('scrolls through 1,000 messages with few of them in the page', async () => {
    const sessionId = await newSession('Long');
    const me = done(await admin.get<{ userId: number }[]>('/system/user/list?userName=admin'))
      .rows[0];
    await console.plinth.app.get(Database).query(
      `INSERT INTO chat_message (tenant_id, user_id, session_id, role, content)
       SELECT '000000', $1, $2, CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END, 'message number ' || n
       FROM generate_series(1, 1000) n`,
      [me?.userId, sessionId],
    );
    const page = await console.signedIn();
    await page.goto(`/chat/${sessionId}`);

    await page.getByText('message number 1000', { exact: true }).waitFor();
    expect(await page.getByRole('article').count()).toBeLessThan(60);
    await page.getByRole('log', { name: 'Messages' }).press('Home');
    await page.getByText('message number 1', { exact: true }).waitFor();
    await page.getByRole('article', { name: 'Question' }).first().hover();
    await page.getByRole('button', { name: 'Edit question' }).first().click();
    const edited = page.getByRole('textbox', { name: 'Edit question' });
    await edited.fill('half changed');
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.getByText('message number 1000', { exact: true }).waitFor();
    await edited.waitFor({ state: 'detached' });
    await expectNoViolations(page);
    await page.getByRole('log', { name: 'Messages' }).press('Home');
    await edited.waitFor();
    expect(await edited.inputValue()).toBe('half changed');
    await page.close();
  });

  it('shows hostile Markdown without running, loading or leaving anything', async () => {
    const sessionId = await newSession('Hostile');
    for (const content of HOSTILE_MARKDOWN) {
      done(await admin.post('/system/message', { sessionId, role: 'assistant', content }));
    }
    const page = await console.signedIn();
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(console.url) && !request.url().startsWith('blob:'))
        foreign.push(request.url());
    });
    await page.goto(`/chat/${sessionId}`);
    const shown = new Set<string>();
    await answers(page).first().waitFor();
    for (let isTop = false; !isTop;) {
      const sight: Sight = await page.evaluate(INSPECT);
      expect(sight.faults).toEqual([]);
      for (const index of sight.indexes) shown.add(index);
      ({ isTop } = sight);
    }
    expect(shown.size).toBe(HOSTILE_MARKDOWN.length);
    expect(foreign).toEqual([]);
    expect(await page.evaluate('window.trapped')).toBeUndefined();
    await page.close();
  });

  it('says which permission is missing, and what failed', async () => {
    const role = await makeRole(admin, 'reader', ['system:message:list']);
    await makeUser(console.plinth, admin, 'reader', [role]);
    const forbidden = await console.signedIn({ user: { name: 'reader', password: PASSWORD } });
    await forbidden.goto('/chat');
    await forbidden.getByText('system:session:list').waitFor();
    expect(await forbidden.getByRole('link', { name: 'Chat', exact: true }).count()).toBe(0);
    await expectNoViolations(forbidden);
    await forbidden.close();

    const codeId = await newSession('Code');
    const content = '```js\nconst alpha = 1;\nconst beta = 2;\n```';
    done(await admin.post('/system/message', { sessionId: codeId, role: 'assistant', content }));
    const elsewhere = await console.signedIn();
    await elsewhere.goto(`/chat/${codeId}`);
    await elsewhere.locator('pre code').getByText('beta').waitFor();
    const [first, second] = await elsewhere.evaluate<[number, number]>(`(() => {
      const texts = document.createTreeWalker(document.querySelector('pre code'), NodeFilter.SHOW_TEXT);
      const lefts = [];
      for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        for (const { index } of node.data.matchAll(/const/g)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + 1);
          lefts.push(range.getBoundingClientRect().left);
        }
      }
      return lefts;
    })()`);
    expect(first).toBe(second);
    await elsewhere.goto('/chat/999999999');
    await elsewhere.getByText('This chat does not exist').waitFor();
    await elsewhere.close();

    const sessionId = await newSession('Broken');
    const page = await console.signedIn({ language: 'zh', width: 390 });
    await page.route('**/system/message/list*', (route) =>
      route.fulfill({
        json: { code: 500, msg: '出错了', data: null },
        headers: { 'X-Request-Id': 'r-1' },
      }),
    );
    await page.goto(`/chat/${sessionId}`);
    await page.getByRole('alert').getByText('出错了').waitFor();
    await page.getByText('r-1').waitFor();
    await page.unroute('**/system/message/list*');
    await page.getByRole('button', { name: '重试' }).click();
    await page.getByRole('heading', { name: '想了解什么？' }).waitFor();
    await page.getByRole('button', { name: '显示会话列表' }).click();
    await page.getByRole('link', { name: 'Broken' }).waitFor();
    await expectNoViolations(page);
    await page.close();
  });
});

function composer(page: Page): Locator {
  return page.getByRole('textbox', { name: /^(Write a message|输入消息)$/ });
}

function answers(page: Page): Locator {
  return page.getByRole('article', { name: 'Answer' });
}

/** Drops files of these texts on the middle of the element, as a file manager does. */
async function dropOn(target: Locator, files: Readonly<Record<string, string>>): Promise<void> {
  const box = await target.boundingBox();
  const isTaken = await target.page().evaluate<boolean[]>(`(() => {
    const transfer = new DataTransfer();
    for (const [name, text] of ${JSON.stringify(Object.entries(files))})
      transfer.items.add(new File([text], name));
    const { x, y, width, height } = ${JSON.stringify(box)};
    const place = { clientX: x + width / 2, clientY: y + height / 2 };
    const init = { ...place, bubbles: true, cancelable: true, dataTransfer: transfer };
    const below = document.elementFromPoint(place.clientX, place.clientY);
    return ['dragover', 'drop'].map((type) => !below.dispatchEvent(new DragEvent(type, init)));
  })()`);
  // Otherwise the browser opens the files.
  expect(isTaken).toEqual([true, true]);
}

async function send(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

interface Sight {
  readonly faults: string[];
  readonly indexes: string[];
  readonly isTop: boolean;
}

/** Runs in the page: what is wrong with the messages in sight, then scrolls up by a window. */
const INSPECT = `(async () => {
  const log = document.querySelector('[role=log]');
  const faults = [];
  const tags = 'script, iframe, object, embed, video, audio, form, base, style, link, meta, img, image, input';
  for (const answer of log.querySelectorAll('article')) {
    for (const element of answer.querySelectorAll(tags)) faults.push(element.outerHTML);
    for (const element of answer.querySelectorAll('*')) {
      for (const { name } of element.attributes) if (name.startsWith('on')) faults.push(element.outerHTML);
    }
    for (const link of answer.querySelectorAll('a')) {
      const address = link.getAttribute('href');
      if (!address || address.startsWith('#')) continue;
      const isSafe = link.target === '_blank' && /noopener.*noreferrer/.test(link.rel);
      if (!isSafe || !/^(https?:|mailto:)/.test(link.href)) faults.push(link.outerHTML);
    }
  }
  const indexes = [...log.querySelectorAll('[data-index]')].map((row) => row.dataset.index);
  const isTop = log.scrollTop === 0;
  log.scrollTop -= log.clientHeight / 2;
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return { faults, indexes, isTop };
})()`;
