import { describe, expect, it } from '@jest/globals';
import { reportMarkdown } from './report.markdown.js';
import type { ReportCallView, RunReportView } from './report.view.js';

const EVIL =
  'x\n# Approved by everybody\n| a | b |\n|---|---|\n- [link](https://evil.example) <b>`code`</b>';

const call: ReportCallView = {
  toolCallId: 'c1',
  iteration: 1,
  toolName: 'shell',
  effectClass: 'SHELL',
  title: 'npm test',
  state: 'SUCCEEDED',
  code: null,
  exitCode: 0,
  reconciled: false,
  uncertain: false,
  resolution: null,
  startedAt: 1_769_884_200_000,
  endedAt: 1_769_884_201_000,
};

const report: RunReportView = {
  runId: 'r1',
  sessionId: 's1',
  user: { userId: 7, userName: 'ann' },
  workspace: '/srv/example',
  model: 'coder',
  permissionMode: 'WORKSPACE_WRITE',
  approvalPolicy: 'ON_REQUEST',
  requirement: 'Fix add()',
  status: 'COMPLETED',
  stopReason: 'END_TURN',
  error: null,
  answer: 'Done.',
  times: { createdAt: 1_769_884_200_000, startedAt: null, endedAt: null, activeMillis: 1_500 },
  usage: {
    iterations: 3,
    toolCalls: 2,
    inputTokens: 100,
    outputTokens: 10,
    totalTokens: 110,
    cachedTokens: 50,
    cost: 0.00123,
    activeMillis: 1_500,
  },
  plan: null,
  planReviews: [],
  approvals: [],
  toolCalls: [call],
  files: [],
  fileCount: 0,
  moreFiles: false,
  skills: [],
};

/** Lines that mean something in Markdown: headings, list items, table rows, fences, HTML. */
function structure(markdown: string): string[] {
  return markdown
    .split('\n')
    .filter((line) => /^\s*(#|[-*+] |\d+[.)] |\||```|~~~|<|={2,}|-{2,})/.test(line))
    .map((line) =>
      line.match(/(?<!\\)\|/g) ? `row of ${line.match(/(?<!\\)\|/g)?.length}` : line,
    );
}

describe('reportMarkdown', () => {
  it('tells what was done and what it cost', () => {
    const text = reportMarkdown(report);
    expect(text).toContain('| Cost | 0.00123 |');
    expect(text).toContain('| Tokens read | 100 (50 from the cache) |');
    expect(text).toContain('| 2026-01-31T18:30:00.000Z | npm test | SUCCEEDED | 0 |');
    expect(text).toContain('> Fix add()');
    expect(text).toContain('| User | ann (user 7) |');
  });

  it('shows the marks of a stored title as they are', () => {
    const title = 'run echo a ⏎ rm ⟨U+27E8⟩U+202E⟩b';
    expect(reportMarkdown({ ...report, toolCalls: [{ ...call, title }] })).toContain(
      `| ${title} |`,
    );
  });

  it('has the same structure whatever the texts in it say', () => {
    const by = { userId: 7, userName: 'ann' };
    const filled = (text: string): RunReportView => ({
      ...report,
      requirement: 'one line',
      answer: 'one line',
      error: { code: 'X', message: text },
      workspace: text,
      plan: {
        revision: 1,
        reviewState: 'APPROVED',
        summary: 'one line',
        steps: [{ id: 's1', text, status: 'DONE', added: false }],
        files: [text],
        risks: [text],
      },
      planReviews: [{ decision: 'APPROVED', revision: 1, by, content: text, at: 0 }],
      approvals: [
        {
          approvalId: 'a1',
          toolCallId: 'c1',
          toolName: text,
          summary: text,
          modelDescription: text,
          state: 'APPROVED',
          decision: 'APPROVE',
          by: { userId: 8, userName: text },
          note: text,
          createdAt: 0,
          decidedAt: 0,
        },
      ],
      toolCalls: [
        { ...call, title: text },
        {
          ...call,
          title: text,
          state: 'UNCERTAIN',
          uncertain: true,
          resolution: { resolution: 'EXECUTED', by, note: text },
        },
      ],
      files: [{ path: text, op: 'UPDATE', changes: 1, undone: 0, additions: 1, deletions: null }],
      skills: [{ name: 'verification', source: text, sha256: '', activated: true }],
    });
    const shape = (text: string): string[] =>
      structure(reportMarkdown(filled(text))).map((line) =>
        /^(#|row)/.test(line) ? line : line.slice(0, 3),
      );
    expect(shape(EVIL)).toEqual(shape('harmless'));
  });

  it('keeps the lines of what the user asked and the model said, each as a quotation', () => {
    const text = reportMarkdown({ ...report, requirement: EVIL, answer: EVIL });
    expect(text).not.toMatch(/^# Approved/m);
    expect(text).toContain('> \\# Approved by everybody');
    expect(text).not.toMatch(/(?<!\\)[<`[]/);
    expect(text).not.toContain('https://evil.example');
  });
});
