import type { ChatMessage, ChatRequest, OfferedTool } from '../chat/chat-request.js';
import { type JsonObject, objectsOf, stringOf } from '../http/json.js';
import { nextMove } from './coder.js';
import { CHANGING_TOOLS } from './repository.js';

/** Permissions of a harness session. */
export interface Permissions {
  readonly write?: boolean;
  readonly shell?: boolean;
  readonly ask?: boolean;
}

/** A call as a workbench answers it; undefined leaves it to the workbench. */
type Answers = (name: string, callArguments: JsonObject, count: number) => string | undefined;

interface Finished {
  readonly report: string;
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
  readonly files: ReadonlyMap<string, string>;
}

const READING = ['list_files', 'read_file', 'search_text', 'activate_skill'];
const MAX_TURNS = 60;

/** A harness in miniature, for the specs: it carries the coder's calls out on files in memory. */
export class Workbench {
  private readonly files: Map<string, string>;
  private readonly messages: ChatMessage[] = [];
  private readonly calls: { readonly name: string; readonly arguments: JsonObject }[] = [];
  private isPlanned = false;

  constructor(
    files: Readonly<Record<string, string>>,
    private readonly permissions: Permissions = { write: true, shell: true },
    private readonly answers: Answers = () => undefined,
  ) {
    this.files = new Map(Object.entries(files));
    this.messages.push(message('system', 'Skills: repository-investigation, safe-refactoring.'));
  }

  /** Carries a requirement out; fails when that does not end. */
  run(requirement: string): Finished {
    this.messages.push(message('user', requirement));
    for (let turn = 0; turn < MAX_TURNS; turn += 1) {
      const { say, calls } = nextMove(this.request());
      const identifiedCalls = calls.map((call, index) => ({ ...call, id: `call-${index}` }));
      this.messages.push({ ...message('assistant', say), toolCalls: identifiedCalls });
      if (calls.length === 0) return { report: say, calls: this.calls, files: this.files };
      for (const { id, name, arguments: callArguments } of identifiedCalls) {
        this.calls.push({ name, arguments: callArguments });
        this.messages.push({
          ...message('tool', this.answerTo(name, callArguments)),
          toolCallId: id,
        });
      }
    }
    throw new Error(`It does not end: ${JSON.stringify(this.calls.slice(-5))}`);
  }

  private request(): ChatRequest {
    const { write, shell, ask } = this.permissions;
    const changing = [...CHANGING_TOOLS, 'plan_step'];
    const names = [
      ...READING,
      ...(ask ? ['ask_user'] : []),
      ...(write && !this.isPlanned ? ['plan_create'] : []),
      ...(write && this.isPlanned ? [...changing, ...(shell ? ['shell'] : [])] : []),
    ];
    const tools: OfferedTool[] = names.map((name) => ({ name, parameters: {} }));
    const { messages } = this;
    return { model: 'coder', messages, tools, stream: false, includeUsage: false };
  }

  private answerTo(name: string, callArguments: JsonObject): string {
    const count = this.calls.filter((call) => call.name === name).length;
    return this.answers(name, callArguments, count) ?? this.execute(name, callArguments);
  }

  private execute(name: string, callArguments: JsonObject): string {
    const path = stringOf(callArguments['path']);
    const text = this.files.get(path);
    switch (name) {
      case 'list_files':
        return [...this.files.keys()].join('\n');
      case 'read_file':
        return text === undefined ? 'Error: there is no such file.' : numbered(text);
      case 'plan_create':
        this.isPlanned = true;
        return 'The plan is approved.';
      case 'write_file':
        this.files.set(path, stringOf(callArguments['content']));
        return `Wrote ${path}.`;
      case 'delete_file':
        this.files.delete(path);
        return `Deleted ${path}.`;
      case 'edit_file':
        return this.edit(path, objectsOf(callArguments['edits']));
      default:
        return 'Done.';
    }
  }

  private edit(path: string, edits: readonly JsonObject[]): string {
    let text = this.files.get(path) ?? '';
    for (const { oldText, newText } of edits) {
      if (text.split(stringOf(oldText)).length !== 2) return 'Error: the old text occurs not once.';
      text = text.replace(stringOf(oldText), () => stringOf(newText));
    }
    this.files.set(path, text);
    return `Edited ${path}.`;
  }
}

function message(role: ChatMessage['role'], text: string): ChatMessage {
  return { role, text, images: [] };
}

function numbered(text: string): string {
  const lines = text.split('\n').map((line, index) => `${index + 1}\t${line}`);
  return lines.join('\n');
}
