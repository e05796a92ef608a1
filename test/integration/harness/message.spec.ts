import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { done } from '../../support/people.js';

interface Message {
  readonly sequence: number;
  readonly role: string;
  readonly content: string;
  readonly [field: string]: unknown;
}

let harness: Harness;
let run: RunView;

beforeAll(async () => {
  harness = await startHarness();
  const { sessionId } = await harness.createSession({ permissionMode: 'READ_ONLY' });
  harness.script(
    { toolCalls: [{ name: 'read_file', arguments: { path: 'src/add.js' } }], text: 'I look.' },
    { text: 'It subtracts.' },
  );
  run = await harness.createRun(sessionId, { requirement: 'What does add() do?' });
  await harness.ended(run);
});

afterAll(() => harness.stop());

async function page(query: string): Promise<Message[]> {
  const path = `/coding/harness/sessions/${run.sessionId}/messages${query}`;
  return done(await harness.session.get<Message[]>(path)).data;
}

describe('GET messages', () => {
  it('tells what was said in the session, with each call and its one result', async () => {
    const messages = await page('');
    const [asked, called, result, answer] = messages;

    expect(messages.map(({ sequence, role }) => [sequence, role])).toEqual([
      [1, 'USER'],
      [2, 'ASSISTANT'],
      [3, 'TOOL'],
      [4, 'ASSISTANT'],
    ]);
    expect(asked).toMatchObject({
      content: 'What does add() do?',
      metadata: { kind: 'INITIAL' },
    });
    expect(called?.['toolCalls']).toEqual([
      {
        toolCallId: expect.any(String),
        toolName: 'read_file',
        arguments: expect.stringContaining('src/add.js'),
      },
    ]);
    const calls = called?.['toolCalls'] as { toolCallId: string }[] | undefined;
    expect(result).toMatchObject({
      toolCallId: calls?.[0]?.toolCallId,
      toolName: 'read_file',
      toolError: false,
      content: expect.stringContaining('return a - b'),
    });
    expect(answer).toMatchObject({ content: 'It subtracts.', toolCalls: [], runId: run.runId });
  });

  it('goes on after the number that one has, at most as many as one wants', async () => {
    expect((await page('?afterSequence=2')).map(({ sequence }) => sequence)).toEqual([3, 4]);
    expect((await page('?afterSequence=1&limit=2')).map(({ sequence }) => sequence)).toEqual([
      2, 3,
    ]);
    expect(await page('?afterSequence=4')).toEqual([]);
    for (const query of ['afterSequence=-1', 'limit=0', 'limit=10001', 'limit=x']) {
      const path = `/coding/harness/sessions/${run.sessionId}/messages?${query}`;
      expect(await harness.session.get(path)).toMatchObject({ code: 400 });
    }
  });

  it('answers fewer where they are large, and never none', async () => {
    const content = 'x'.repeat(9 * 1024 * 1024);
    for (const sequence of [5, 6, 7]) {
      await harness.plinth.app.get(Database).query(
        `INSERT INTO harness_message (tenant_id, id, session_id, run_id, sequence, role, content)
          VALUES ('000000', $1, $2, $3, $4, 'CONTROL', $5)`,
        [randomUUID(), run.sessionId, run.runId, sequence, content],
      );
    }

    expect((await page('?afterSequence=3')).map(({ sequence }) => sequence)).toEqual([4, 5]);
    expect((await page('?afterSequence=5')).map(({ sequence }) => sequence)).toEqual([6]);
    expect((await page('?afterSequence=6&limit=1')).map(({ sequence }) => sequence)).toEqual([7]);
  });
});
