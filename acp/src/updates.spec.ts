import { describe, expect, it } from '@jest/globals';
import { diffsOf, fenced, SessionUpdates } from './updates.js';

function event(type: string, data: object, toolCallId: string | null = null) {
  const ids = { eventId: 'e', sessionId: 's', runId: 'r', stepId: null, approvalId: null };
  return {
    ...ids,
    toolCallId,
    schemaVersion: 1,
    sequence: 1,
    timestamp: 0,
    type,
    data: { ...data },
  };
}

describe('a unified diff', () => {
  it('is a piece for each hunk, whatever its lines begin with', () => {
    const diff = [
      'diff --git a/x.sql b/x.sql',
      '--- a/x.sql',
      '+++ b/x.sql',
      '@@ -1,2 +1,2 @@',
      '--- old comment',
      '+++ new comment',
      ' kept',
      '@@ -9 +9 @@',
      '-a',
      '+b',
      'diff --git a/new file.txt b/new file.txt',
      '--- /dev/null',
      '+++ b/new file.txt',
      '@@ -0,0 +1 @@',
      '+one',
      '\\ No newline at end of file',
      '--- a/gone.txt',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-all',
      '',
    ].join('\n');
    expect(diffsOf(diff)).toEqual([
      { path: 'x.sql', oldText: '-- old comment\nkept\n', newText: '++ new comment\nkept\n' },
      { path: 'x.sql', oldText: 'a\n', newText: 'b\n' },
      { path: 'new file.txt', oldText: null, newText: 'one\n' },
      { path: 'gone.txt', oldText: 'all\n', newText: '' },
    ]);
  });

  it('that was cut shows what there is', () => {
    const cut = '--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b';
    expect(diffsOf(cut)).toEqual([{ path: 'x', oldText: 'a\nb\n', newText: 'a\n' }]);
    expect(diffsOf('Binary files a/x and b/x differ')).toEqual([]);
  });
});

describe('updates', () => {
  it('leave out events that an editor has no place for, and those of a newer service', () => {
    const updates = new SessionUpdates({ cwd: '/code', showsTerminals: false });
    expect(updates.of(event('run.recovering', { attempt: 1 }))).toEqual([]);
    expect(updates.of(event('tool.progress', { part: 1 }, 'c'))).toEqual([]);
  });

  it('of a call collect its diffs and its outcome', () => {
    const updates = new SessionUpdates({ cwd: '/code', showsTerminals: false });
    const call = { toolName: 'apply_patch', title: 'patch', argumentsJson: '{"a":1}' };
    expect(updates.of(event('tool.started', call, 'c'))).toMatchObject([
      { sessionUpdate: 'tool_call', toolCallId: 'c', kind: 'edit', rawInput: { a: 1 } },
    ]);
    const diff = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n';
    updates.of(event('file.changed', { path: 'x', op: 'UPDATE', diff }, 'c'));
    const outcome = {
      toolName: 'apply_patch',
      status: 'SUCCEEDED',
      error: false,
      summary: '1 file',
    };
    expect(updates.of(event('tool.completed', outcome, 'c'))).toEqual([
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'c',
        kind: 'edit',
        status: 'completed',
        content: [
          { type: 'diff', path: '/code/x', oldText: 'a\n', newText: 'b\n' },
          { type: 'content', content: { type: 'text', text: '1 file' } },
        ],
        rawOutput: { summary: '1 file' },
      },
    ]);
  });

  it('show plans step by step', () => {
    const updates = new SessionUpdates({ cwd: '/code', showsTerminals: false });
    const steps = ['PENDING', 'IN_PROGRESS', 'DONE', 'SKIPPED'].map((status) => ({
      ...{ id: 's', text: status, status },
    }));
    const [update] = updates.of(event('plan.updated', { steps }));
    const entries = update?.sessionUpdate === 'plan' ? update.entries : [];
    expect(entries.map(({ status }) => status)).toEqual([
      ...['pending', 'in_progress', 'completed', 'completed'],
    ]);
  });

  it('put text into a fence that it cannot end', () => {
    expect(fenced('a ``` b\n', 'sh')).toBe('````sh\na ``` b\n````');
  });
});
