import type { ChatRequest, OfferedTool } from '../chat/chat-request.js';
import { type JsonObject, objectOf } from '../http/json.js';
import { type Conversation, readConversation, type Step } from './conversation.js';
import { type Change, changesFor } from './proposal.js';
import { CHANGING_TOOLS, type Repository, repositoryOf } from './repository.js';
import { readTask, type Task } from './task.js';

/** Input of every decision of the coder, read from each request: no state is kept in between. */
export interface Situation extends Conversation {
  readonly task: Task;
  readonly repository: Repository;
  /** Remaining changes. */
  readonly changes: readonly Change[];
  /** Descriptions of skills and rules. */
  readonly instructions: string;
}

export function readSituation(request: ChatRequest): Situation {
  const conversation = readConversation(request);
  const answers = stepsOf(conversation, 'ask_user')
    .filter(({ failed }) => !failed)
    .map(({ result }) => ({ text: result, opens: false, after: conversation.steps.length }));
  const task = readTask([...conversation.sayings, ...answers]);
  const repository = repositoryOf(conversation.steps);
  return {
    ...conversation,
    task,
    repository,
    changes: changesFor(task, repository),
    instructions: request.messages
      .filter(({ role }) => role === 'system')
      .map(({ text }) => text)
      .join('\n'),
  };
}

export function stepsOf({ steps }: Pick<Conversation, 'steps'>, ...names: string[]): Step[] {
  return steps.filter(({ name }) => names.includes(name));
}

export function changesMade(situation: Situation): Step[] {
  return stepsOf(situation, ...CHANGING_TOOLS).filter(({ failed }) => !failed);
}

/** The commands run since the last change. */
export function checksSinceChange({ steps }: Situation): Step[] {
  const last = steps.findLastIndex(({ name, failed }) => CHANGING_TOOLS.includes(name) && !failed);
  return stepsOf({ steps: steps.slice(last + 1) }, 'shell');
}

/** The arguments that the tool knows: an unknown one would be refused. */
export function fitted(tool: OfferedTool | undefined, callArguments: JsonObject): JsonObject {
  const declaredParameters = objectOf(tool?.parameters['properties']);
  if (Object.keys(declaredParameters).length === 0) return callArguments;
  return Object.fromEntries(
    Object.entries(callArguments).filter(([name]) => name in declaredParameters),
  );
}
