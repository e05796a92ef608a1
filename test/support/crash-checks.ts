import { expect } from '@jest/globals';
import { z } from 'zod';
import type { BuiltHarness, CrashRun } from './built-harness.js';
import { approvalDecision, call, calling, planDecision, planning } from './scripted-model.js';
import { eventually } from './wait.js';

const PATIENCE_MS = 300_000;

export const PLAN = planning('a.txt', 'b.txt', 'c.txt');
export const READ = calling('read_file', { path: 'a.txt' });
export const READ_BOTH = {
  toolCalls: ['a.txt', 'b.txt'].flatMap((path) => call('read_file', { path })),
};
export const EDIT = calling('edit_file', {
  path: 'a.txt',
  edits: [{ oldText: 'one', newText: 'two' }],
});
export const WRITE = calling('write_file', { path: 'c.txt', content: 'new\n' });
export const PATCH = calling('apply_patch', {
  patch: ['a.txt', 'b.txt']
    .map((path) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-one\n+two\n`)
    .join(''),
});

/** A command that counts how often it was begun. */
export function shell(rest = ''): ReturnType<typeof calling> {
  return calling('shell', { command: `echo begun >> begun.txt; ${rest}` });
}

const messageShape = z.object({
  role: z.string(),
  content: z.string(),
  toolCallId: z.string().nullable(),
  toolError: z.boolean(),
  toolCalls: z.array(z.object({ toolCallId: z.string() })),
  metadata: z.object({ code: z.string().optional() }),
});
const effectShape = z.object({ toolCallId: z.string(), state: z.string() });

/** What holds for every run, however often and wherever its process was killed. */
export class CrashChecks {
  constructor(private readonly harness: BuiltHarness) {}

  /** How often the command of `shell` was begun. */
  begun(run: CrashRun): number {
    return (this.harness.content(run, 'begun.txt') ?? '').split('\n').length - 1;
  }

  async untilBegun(run: CrashRun): Promise<void> {
    await this.harness.event(run, 'tool.started');
    await eventually(
      () => this.begun(run),
      (count) => count > 0,
      PATIENCE_MS,
    );
  }

  /** Waits until the run's model has been asked so often. */
  async untilAsked({ name }: CrashRun, times: number): Promise<void> {
    await eventually(
      () => this.harness.simulator.requests.filter(({ model }) => model === `model-${name}`).length,
      (count) => count >= times,
      PATIENCE_MS,
    );
  }

  async types(run: CrashRun): Promise<string[]> {
    return (await this.harness.events(run)).map(({ type }) => type);
  }

  async messages(run: CrashRun): Promise<z.output<typeof messageShape>[]> {
    return z.array(messageShape).parse(await this.harness.messages(run));
  }

  async results(run: CrashRun): Promise<z.output<typeof messageShape>[]> {
    return (await this.messages(run)).filter(({ role }) => role === 'TOOL');
  }

  async approvePlan(run: CrashRun): Promise<void> {
    const body = planDecision(await this.harness.waitFor(run, 'WAITING_FOR_INPUT'));
    expect((await this.harness.post(run, '/plan/approve', body)).code).toBe(200);
  }

  async approveCall(run: CrashRun): Promise<void> {
    const waiting = await this.harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    const { approvalId, body } = approvalDecision(waiting);
    expect((await this.harness.post(run, `/approvals/${approvalId}/resolve`, body)).code).toBe(200);
  }

  /** Says what a call has done of which nobody knows. */
  async resolve(run: CrashRun, resolution: 'EXECUTED' | 'NOT_EXECUTED'): Promise<void> {
    const suspended = await this.harness.waitFor(run, 'SUSPENDED');
    expect(suspended.error).toMatchObject({ code: 'uncertain_tool_effect' });
    const resumed = await this.harness.post(run, '/resume');
    expect(resumed).toMatchObject({ code: 409, data: { errorCode: 'EFFECTS_UNRESOLVED' } });
    const effects = z.record(z.string(), effectShape).parse(suspended['toolEffects']);
    const [effect] = Object.values(effects);
    expect(effect?.state).toBe('UNCERTAIN');
    const below = `/effects/${effect?.toolCallId}/resolution`;
    const answer = await this.harness.post(run, below, { resolution, note: 'I have looked.' });
    expect(answer.code).toBe(200);
  }

  async completed(run: CrashRun): Promise<void> {
    expect(await this.harness.waitFor(run, 'COMPLETED', 'FAILED', 'CANCELLED')).toMatchObject({
      status: 'COMPLETED',
      stopReason: 'END_TURN',
      recovering: false,
      error: null,
    });
    await this.sound(run);
  }

  /** Numbers without gaps, one result for each call, one end, no command twice. */
  async sound(run: CrashRun): Promise<void> {
    const events = await this.harness.events(run);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    const messages = await this.messages(run);
    const asked = messages.flatMap(({ toolCalls }) =>
      toolCalls.map(({ toolCallId }) => toolCallId),
    );
    const answered = (await this.results(run)).map(({ toolCallId }) => toolCallId);
    expect(answered.toSorted()).toEqual(asked.toSorted());
    const endings = events.filter(({ type }) => /^run\.(?:completed|failed|cancelled)$/.test(type));
    expect(endings).toHaveLength(1);
    expect(this.begun(run)).toBeLessThanOrEqual(1);
  }

  /** A recovery is nothing unexpected, and says what it has to say once. */
  quiet(): void {
    const lines = this.harness.log.split('\n');
    expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    const warnings = lines.filter(
      (line) => line.includes('"level":"warn"') && line.includes('runId'),
    );
    expect(new Set(warnings.map((line) => line.replace(/"time":"[^"]*"/, ''))).size).toBe(
      warnings.length,
    );
  }
}
