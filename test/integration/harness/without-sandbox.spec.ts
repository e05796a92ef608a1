import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { Sandbox } from '../../../src/harness/sandbox/sandbox.js';
import { startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { done } from '../../support/people.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
  const sandbox = harness.plinth.app.get(Sandbox, { strict: false });
  await sandbox.ready();
  // As where bwrap is not installed: it has one place on a machine, which other tests need meanwhile.
  const nowhere = { available: false, reason: 'There is no bwrap.', limitsBy: null };
  jest.spyOn(sandbox, 'capability', 'get').mockReturnValue(nowhere);
});

afterAll(async () => {
  jest.restoreAllMocks();
  await harness.stop();
});

/** What a request says of the tools that it offers. */
const asked = z.object({ tools: z.array(z.object({ function: z.object({ name: z.string() }) })) });

it('goes on without commands where there is no sandbox, and runs none elsewhere (S28)', async () => {
  const { sessionId } = await harness.createSession({
    permissionMode: 'FULL_ACCESS',
    approvalPolicy: 'NEVER',
  });
  const plan = { summary: 'Do it', steps: [{ text: 'Do it' }], files: [] };
  harness.script(
    { toolCalls: [{ name: 'plan_create', arguments: plan }] },
    { toolCalls: [{ name: 'shell', arguments: { command: 'echo x > by-command.txt' } }] },
    { toolCalls: [{ name: 'write_file', arguments: { path: 'after.txt', content: 'x' } }] },
    { text: 'All done.' },
  );
  const run = await harness.createRun(sessionId);
  expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });

  const results = (await harness.messages(run)).filter(({ role }) => role === 'TOOL');
  expect(results).toMatchObject([
    { toolName: 'plan_create', toolError: false },
    { toolName: 'shell', toolError: true, metadata: { code: 'SANDBOX_UNAVAILABLE' } },
    { toolName: 'write_file', toolError: false },
  ]);
  expect(readFileSync(join(harness.workspace, 'after.txt'), 'utf8')).toBe('x');
  expect(() => readFileSync(join(harness.workspace, 'by-command.txt'))).toThrow('ENOENT');
  expect(harness.simulator.requests).toHaveLength(4);
  for (const { body } of harness.simulator.requests) {
    const names = asked.parse(body).tools.map((tool) => tool.function.name);
    expect(names).toContain('read_file');
    expect(names).not.toContain('shell');
  }
  const { data } = done(await harness.session.get('/coding/harness/capabilities'));
  expect(data).toMatchObject({
    shell: {
      ...{ available: false, reason: 'There is no bwrap.' },
      ...{ processLimit: null, memoryLimit: null },
    },
  });
});
