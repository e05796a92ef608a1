import { plain, plainLine } from '../../protocol/policy.js';
import type {
  ReportApprovalView,
  ReportCallView,
  ReportFileView,
  ReportPersonView,
  ReportPlanView,
  ReportReviewView,
  RunReportView,
} from './report.view.js';

/**
 * The report as a document for people. Headings, tables and their order are ours: texts of users, models, tools and
 * files are escaped, each on its line, and mean nothing in Markdown.
 */
export function reportMarkdown(report: RunReportView): string {
  const { toolCalls } = report;
  const commands = toolCalls.filter(({ effectClass }) => effectClass === 'SHELL');
  const uncertain = toolCalls.filter((call) => call.uncertain);
  return [
    `# Run ${plain(report.runId)}`,
    table(['', ''], facts(report)),
    section('Requirement', quoted(report.requirement)),
    section('Result', resultText(report)),
    section('Plan', planText(report.plan)),
    section('Plan reviews', listed(report.planReviews, reviewLine)),
    section('Approvals', approvalTable(report.approvals)),
    section('Commands', commandTable(commands)),
    section('Files changed', filesText(report)),
    section('Uncertain effects', listed(uncertain, uncertainLine)),
    section('Other tool calls', countsText(toolCalls)),
    section('Skills', listed(report.skills, skillLine)),
  ].join('\n\n');
}

function facts(report: RunReportView): string[][] {
  const { times, usage } = report;
  return [
    ['Status', plain(report.status)],
    ['Stop reason', plain(report.stopReason ?? 'none yet')],
    ['User', personText(report.user)],
    ['Session', plain(report.sessionId)],
    ['Workspace', plain(report.workspace)],
    ['Model', plain(report.model)],
    ['Permission mode', plain(report.permissionMode)],
    ['Approval policy', plain(report.approvalPolicy)],
    ['Created', time(times.createdAt)],
    ['Started', time(times.startedAt)],
    ['Ended', time(times.endedAt)],
    ['Worked on', `${(times.activeMillis / 1_000).toFixed(1)} s`],
    ['Turns of the model', String(usage.iterations)],
    ['Tool calls', String(usage.toolCalls)],
    ['Tokens read', `${usage.inputTokens} (${usage.cachedTokens} from the cache)`],
    ['Tokens written', String(usage.outputTokens)],
    ['Cost', usage.cost === null ? 'not known' : String(Number(usage.cost.toPrecision(6)))],
  ];
}

function resultText({ error, answer }: RunReportView): string {
  const failure = error ? `Error ${plain(error.code)}: ${plain(error.message)}` : undefined;
  const answerText = answer === null ? 'The model has given no answer.' : quoted(answer);
  return failure === undefined ? answerText : `${failure}\n\n${answerText}`;
}

function planText(plan: ReportPlanView | null): string {
  if (!plan) return 'None.';
  const steps = plan.steps.map(
    ({ text, status, added }, index) =>
      `${index + 1}. ${plain(text)} (${plain(status)}${added ? ', added later' : ''})`,
  );
  return [
    `Version ${plan.revision}, ${plain(plan.reviewState)}.`,
    quoted(plan.summary),
    steps.join('\n'),
    `Files: ${plan.files.map(plain).join(', ') || 'none'}.`,
    `Risks: ${plan.risks.map(plain).join('; ') || 'none named'}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function reviewLine({ decision, revision, by, at, content }: ReportReviewView): string {
  const who = by ? personText(by) : 'the policy';
  const what = content === null ? '' : `: ${plain(content)}`;
  return `${time(at)}: ${plain(decision)} of version ${revision} by ${who}${what}`;
}

function approvalTable(approvals: readonly ReportApprovalView[]): string {
  return table(
    ['Asked', 'Tool', 'Call', 'The model says', 'State', 'Decision', 'By', 'When', 'Note'],
    approvals.map((approval) => [
      time(approval.createdAt),
      plain(approval.toolName),
      plainLine(approval.summary),
      plainLine(approval.modelDescription ?? ''),
      plain(approval.state),
      plain(approval.decision ?? ''),
      approval.by ? personText(approval.by) : '',
      approval.decidedAt === null ? '' : time(approval.decidedAt),
      plain(approval.note ?? ''),
    ]),
  );
}

function commandTable(commands: readonly ReportCallView[]): string {
  return table(
    ['Started', 'Command', 'State', 'Exit code'],
    commands.map(({ startedAt, title, state, exitCode }) => [
      startedAt === null ? '' : time(startedAt),
      plainLine(title ?? ''),
      plain(state),
      exitCode === null ? '' : String(exitCode),
    ]),
  );
}

function filesText({ files, fileCount, moreFiles }: RunReportView): string {
  const table = fileTable(files);
  if (!moreFiles && files.length === fileCount) return table;
  return `${table}\n\nThese are ${files.length} of ${fileCount} files. The parameter pageNum shows the others.`;
}

function fileTable(files: readonly ReportFileView[]): string {
  return table(
    ['File', 'Change', 'Lines added', 'Lines deleted', 'Changes', 'Undone'],
    files.map(({ path, op, additions, deletions, changes, undone }) => [
      plain(path),
      plain(op),
      additions === null ? 'not known' : String(additions),
      deletions === null ? 'not known' : String(deletions),
      String(changes),
      String(undone),
    ]),
  );
}

function uncertainLine({ toolName, title, state, resolution }: ReportCallView): string {
  const what = `${plain(toolName)} ${plainLine(title ?? '')}`;
  if (!resolution) return `${what}: ${plain(state)}, not resolved`;
  const who = resolution.by ? ` by ${personText(resolution.by)}` : '';
  const note = resolution.note === null ? '' : `: ${plain(resolution.note)}`;
  return `${what}: resolved as ${plain(resolution.resolution)}${who}${note}`;
}

/** How often each tool was called and how the calls ended; commands have a table of their own. */
function countsText(calls: readonly ReportCallView[]): string {
  const others = calls.filter(({ effectClass }) => effectClass !== 'SHELL');
  const groups = [...Map.groupBy(others, ({ toolName, state }) => `${toolName} ${state}`)];
  const rows = groups.map(([, [first, ...more]]) => [
    plain(first?.toolName ?? ''),
    plain(first?.state ?? ''),
    String(more.length + 1),
  ]);
  return table(['Tool', 'State', 'Calls'], rows);
}

function skillLine({ name, source, activated }: RunReportView['skills'][number]): string {
  return `${plain(name)} (${plain(source)})${activated ? ', activated' : ''}`;
}

function section(title: string, text: string): string {
  return `## ${title}\n\n${text}`;
}

function listed<Row>(rows: readonly Row[], line: (row: Row) => string): string {
  return rows.length === 0 ? 'None.' : rows.map((row) => `- ${line(row)}`).join('\n');
}

/** Cells are escaped already. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return 'None.';
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** Quotes line by line, so that the line breaks of the text remain. */
function quoted(text: string): string {
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `> ${plain(line)}`.trimEnd())
    .join('\n');
}

function personText({ userId, userName }: ReportPersonView): string {
  return userName === null ? `user ${userId}` : `${plain(userName)} (user ${userId})`;
}

function time(milliseconds: number | null): string {
  return milliseconds === null ? 'not yet' : new Date(milliseconds).toISOString();
}
