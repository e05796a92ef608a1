import type { DescribedChanges } from '../change/change-records.js';
import type { FileOperation, SeenFile } from '../workspace/file-operation.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { SettledEffectState } from '../protocol/effect.state.js';
import type { ToolError, ToolErrorCode } from '../fault/tool.error.js';
import type { ShellOutcome, ToolOutcome } from '../tool/tool.js';

/** How a tool call has come out, before it is written down. */
export interface CallOutcome {
  readonly state: SettledEffectState;
  /** What the model reads. */
  readonly content: string;
  readonly summary: string;
  readonly code?: ToolErrorCode;
  readonly truncated?: boolean;
  readonly whole?: Buffer;
  readonly seen?: readonly SeenFile[];
  readonly events?: readonly EventDraft[];
  readonly exitCode?: number;
  readonly operations?: readonly FileOperation[];
  readonly changes?: DescribedChanges;
}

/** What an error says of the effect: arguments that were wrong, consent that is missing, or nothing was done. */
const STATES: Readonly<Partial<Record<ToolErrorCode, SettledEffectState>>> = {
  INVALID_ARGUMENTS: 'INVALID',
  UNKNOWN_TOOL: 'INVALID',
  TOOL_NOT_OFFERED: 'INVALID',
  LIMIT_REACHED: 'NOT_EXECUTED',
  DENIED: 'DENIED',
  SECRET_PATH: 'DENIED',
  PROTECTED_PATH: 'DENIED',
  WRITES_DISABLED: 'DENIED',
  APPROVAL_STALE: 'NOT_EXECUTED',
  TIMED_OUT: 'TIMED_OUT',
  CANCELLED: 'CANCELLED',
};

export function failedOutcome({ code, message }: ToolError): CallOutcome {
  const summary = message.split('\n', 1)[0] ?? '';
  return { state: STATES[code] ?? 'FAILED', content: message, summary, code };
}

export function doneOutcome(outcome: ToolOutcome): CallOutcome {
  const { content, summary, truncated, whole, seen, events, failure } = outcome;
  return {
    state: failure ? (STATES[failure] ?? 'FAILED') : 'SUCCEEDED',
    content,
    summary,
    ...(failure && { code: failure }),
    ...(truncated !== undefined && { truncated }),
    ...(whole && { whole }),
    ...(seen && { seen }),
    ...(events && { events }),
  };
}

export function shellOutcome(outcome: ShellOutcome, changes: DescribedChanges): CallOutcome {
  return {
    ...doneOutcome(outcome),
    ...(outcome.exitCode !== null && { exitCode: outcome.exitCode }),
    operations: outcome.changes,
    ...(outcome.changes.length > 0 && { changes }),
  };
}
