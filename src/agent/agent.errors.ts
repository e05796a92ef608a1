import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

export class AgentDisabledError extends InvalidInputError {
  constructor(agentName: string) {
    super(
      msg`The agent ${agentName} is disabled. Choose another agent, or ask an administrator to enable it.`,
    );
  }
}

export class AgentWithoutModelError extends InvalidInputError {
  constructor(agentName: string) {
    super(
      msg`The model of the agent ${agentName} was deleted. Choose another agent, or ask an administrator to give it another model.`,
    );
  }
}

export class AgentModelError extends InvalidInputError {
  constructor(modelName: string, category: string) {
    super(
      msg`The model ${modelName} is of category ${category} and cannot answer for an agent. Choose a model of category chat.`,
    );
  }
}

export class TooManyBoundError extends InvalidInputError {
  constructor(what: Message, count: number, limit: number) {
    super(msg`An agent can have at most ${limit} ${what}, and ${count} were given. Remove some.`);
  }
}

export class UnknownSkillError extends InvalidInputError {
  constructor(unknown: readonly string[], existingNames: readonly string[]) {
    const names = unknown.slice(0, 5).map((name) => `"${name.slice(0, 64)}"`);
    super(
      msg`There is no skill named ${names.join(', ')}. The skills are ${existingNames.join(', ')}.`,
    );
  }
}

export class UnknownToolError extends InvalidInputError {
  constructor(unknown: readonly string[], existingNames: readonly string[]) {
    const names = unknown.slice(0, 5).map((name) => `"${name.slice(0, 64)}"`);
    super(
      msg`There is no tool named ${names.join(', ')}. The tools are ${existingNames.join(', ')}.`,
    );
  }
}

/** A tool that does not exist or is not accepted, or whose server the caller may not use. */
export class UnknownServerToolError extends InvalidInputError {
  constructor(id: number) {
    super(
      msg`There is no accepted tool with the id ${id} on a tool server that you may use. Leave it out of mcpToolIds.`,
    );
  }
}
