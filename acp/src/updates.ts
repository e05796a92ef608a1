import { join } from 'node:path';
import type {
  Diff,
  PlanEntryStatus,
  SessionUpdate,
  ToolCall,
  ToolCallContent,
  ToolKind,
} from '@agentclientprotocol/sdk';
import type { ApprovalView, HarnessEvent } from '@plinth/client';
import { z } from 'zod';

/** Fields of the events that are shown; a newer service may send more. */
const step = z.object({ text: z.string(), status: z.string() });
const schemas = {
  'input.queued': z.object({ content: z.string() }),
  'plan.revision.requested': z.object({ content: z.string() }),
  'assistant.text.delta': z.object({ effectId: z.string(), delta: z.string() }),
  'assistant.thinking.delta': z.object({ effectId: z.string(), delta: z.string() }),
  'plan.created': z.object({ steps: z.array(step) }),
  'plan.updated': z.object({ steps: z.array(step) }),
  'tool.started': z.object({
    toolName: z.string(),
    title: z.string(),
    argumentsJson: z.string(),
  }),
  'tool.completed': z.object({
    toolName: z.string(),
    status: z.string(),
    error: z.boolean(),
    summary: z.string(),
    output: z.string().optional(),
    exitCode: z.number().optional(),
  }),
  'file.changed': z.object({ path: z.string(), op: z.string(), diff: z.string() }),
  'usage.updated': z.object({
    contextUsed: z.number().optional(),
    contextLimit: z.number().optional(),
  }),
  'run.failed': z.object({
    stopReason: z.string(),
    error: z.object({ message: z.string() }).optional(),
  }),
};

type Shown = typeof schemas;
export type EventName = keyof Shown;
export type EventData<Name extends EventName> = z.infer<Shown[Name]>;

/** The data of an event of the type; undefined for another type. */
export function dataOf<Name extends EventName>(
  event: HarnessEvent,
  name: Name,
): EventData<Name> | undefined {
  return event.type === name ? (schemas[name].parse(event.data) as EventData<Name>) : undefined;
}

const KINDS: Readonly<Record<string, ToolKind>> = {
  list_files: 'read',
  read_file: 'read',
  glob_files: 'search',
  search_text: 'search',
  edit_file: 'edit',
  write_file: 'edit',
  apply_patch: 'edit',
  delete_file: 'delete',
  shell: 'execute',
  plan_create: 'think',
  plan_step: 'think',
};

const PLAN_STATUSES: Readonly<Record<string, PlanEntryStatus>> = {
  PENDING: 'pending',
  IN_PROGRESS: 'in_progress',
  DONE: 'completed',
  SKIPPED: 'completed',
};

/** What a client shows of commands, beside the protocol: output in a terminal of its own that no command runs in. */
export interface UpdateOptions {
  /** Folder of the editor that is the workspace. */
  readonly cwd: string;
  /** The client shows `terminal_output` of `_meta`, as Zed does. */
  readonly showsTerminals: boolean;
}

/** Turns the events of a session's runs into what an editor shows. It remembers the tool calls that it has shown. */
export class SessionUpdates {
  private readonly calls = new Map<string, ToolCallContent[]>();

  constructor(private readonly options: UpdateOptions) {}

  of(event: HarnessEvent): SessionUpdate[] {
    const text = dataOf(event, 'assistant.text.delta');
    if (text) return [chunk('agent_message_chunk', text.delta, text.effectId)];
    const thought = dataOf(event, 'assistant.thinking.delta');
    if (thought) return [chunk('agent_thought_chunk', thought.delta, thought.effectId)];
    const plan = dataOf(event, 'plan.created') ?? dataOf(event, 'plan.updated');
    if (plan) return [planUpdate(plan.steps)];
    const usage = dataOf(event, 'usage.updated');
    if (usage) {
      const { contextUsed: used, contextLimit: size } = usage;
      const isKnown = used !== undefined && size !== undefined;
      return isKnown ? [{ sessionUpdate: 'usage_update', used, size }] : [];
    }
    const { toolCallId } = event;
    return toolCallId === null ? [] : this.ofCall(event, toolCallId);
  }

  /** The tool call as a permission request shows it. */
  asked(approval: ApprovalView): ToolCall {
    const { toolCallId, toolName, summary, command, diff, files, notes, argumentsJson } = approval;
    const content: ToolCallContent[] = [
      ...(command === null ? [] : [textContent(fenced(command, 'sh'))]),
      ...(diff === null ? [] : this.diffs(diff)),
      ...notes.map((note) => textContent(note)),
    ];
    this.contentOf(toolCallId);
    return {
      toolCallId,
      title: summary,
      kind: kindOf(toolName),
      status: 'pending',
      content,
      locations: files.map(({ path }) => ({ path: join(this.options.cwd, path) })),
      rawInput: jsonOf(argumentsJson),
    };
  }

  private ofCall(event: HarnessEvent, toolCallId: string): SessionUpdate[] {
    const started = dataOf(event, 'tool.started');
    if (started) return [this.started(toolCallId, started)];
    const change = dataOf(event, 'file.changed');
    if (change) {
      const content = this.contentOf(toolCallId);
      content.push(...this.diffs(change.diff));
      return [{ sessionUpdate: 'tool_call_update', toolCallId, content: [...content] }];
    }
    const completed = dataOf(event, 'tool.completed');
    return completed ? [this.completed(toolCallId, completed)] : [];
  }

  private started(
    toolCallId: string,
    { toolName, title, argumentsJson }: EventData<'tool.started'>,
  ): SessionUpdate {
    const isKnown = this.calls.has(toolCallId);
    const { cwd, showsTerminals } = this.options;
    const hasTerminal = toolName === 'shell' && showsTerminals;
    const content: ToolCallContent[] = hasTerminal
      ? [{ type: 'terminal', terminalId: toolCallId }]
      : [];
    this.calls.set(toolCallId, content);
    const call = {
      toolCallId,
      title,
      kind: kindOf(toolName),
      status: 'in_progress' as const,
      content: [...content],
      rawInput: jsonOf(argumentsJson),
      ...(hasTerminal && { _meta: { terminal_info: { terminal_id: toolCallId, cwd } } }),
    };
    return { ...call, sessionUpdate: isKnown ? 'tool_call_update' : 'tool_call' };
  }

  private completed(
    toolCallId: string,
    { toolName, status, error, summary, output, exitCode }: EventData<'tool.completed'>,
  ): SessionUpdate {
    const content = this.contentOf(toolCallId);
    const hasTerminal = content.some(({ type }) => type === 'terminal');
    const text = output ?? summary;
    if (!hasTerminal && text !== '') {
      content.push(textContent(output === undefined ? text : fenced(text, 'console')));
    }
    const terminal = { terminal_id: toolCallId };
    return {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      kind: kindOf(toolName),
      status: error || status !== 'SUCCEEDED' ? 'failed' : 'completed',
      content: [...content],
      rawOutput: { summary, ...(exitCode !== undefined && { exitCode }) },
      ...(hasTerminal && {
        _meta: {
          terminal_output: { ...terminal, data: text },
          terminal_exit: { ...terminal, exit_code: exitCode ?? null, signal: null },
        },
      }),
    };
  }

  private contentOf(toolCallId: string): ToolCallContent[] {
    const content = this.calls.get(toolCallId) ?? [];
    this.calls.set(toolCallId, content);
    return content;
  }

  private diffs(unified: string): ToolCallContent[] {
    return diffsOf(unified).map((diff) => ({
      ...diff,
      type: 'diff' as const,
      path: join(this.options.cwd, diff.path),
    }));
  }
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** The pieces of a unified diff, a hunk each: lines before and after with those around them. */
export function diffsOf(unified: string): Diff[] {
  const diffs: Diff[] = [];
  let names = { before: '', after: '' };
  let hunk: { before: string; after: string; oldLines: number; newLines: number } | undefined;
  const add = (): void => {
    if (!hunk) return;
    const isNew = names.before === '/dev/null';
    const path = names.after === '/dev/null' ? names.before : names.after;
    diffs.push({
      path: path.replace(/^[ab]\//, ''),
      oldText: isNew ? null : hunk.before,
      newText: hunk.after,
    });
    hunk = undefined;
  };
  for (const line of unified.split('\n')) {
    if (hunk && (hunk.oldLines > 0 || hunk.newLines > 0)) {
      const text = `${line.slice(1)}\n`;
      if (!line.startsWith('+')) {
        hunk.before += text;
        hunk.oldLines -= 1;
      }
      if (!line.startsWith('-')) {
        hunk.after += text;
        hunk.newLines -= 1;
      }
      continue;
    }
    const counts = HUNK.exec(line);
    if (counts) {
      add();
      const [, oldLines = '1', newLines = '1'] = counts;
      hunk = { before: '', after: '', oldLines: Number(oldLines), newLines: Number(newLines) };
    } else if (line.startsWith('--- ')) {
      add();
      names = { before: line.slice(4).trim(), after: '' };
    } else if (line.startsWith('+++ ')) names.after = line.slice(4).trim();
  }
  add();
  return diffs;
}

export function chunk(
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
  messageId?: string,
): SessionUpdate {
  return { sessionUpdate, content: { type: 'text', text }, ...(messageId && { messageId }) };
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}

function planUpdate(steps: readonly z.infer<typeof step>[]): SessionUpdate {
  const entries = steps.map(({ text: content, status }) => ({
    content,
    priority: 'medium' as const,
    status: PLAN_STATUSES[status] ?? 'pending',
  }));
  return { sessionUpdate: 'plan', entries };
}

function kindOf(toolName: string): ToolKind {
  return KINDS[toolName] ?? 'other';
}

/** Text in a fence that it cannot end. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
