import { DomainError, InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import type { LimitReached } from './agent-runtime.js';

export class UnknownRuntimeError extends InvalidInputError {
  constructor(code: string, existingCodes: readonly string[]) {
    super(
      msg`There is no runtime named "${code.slice(0, 40)}". The runtimes are ${existingCodes.join(', ')}.`,
    );
  }
}

export class ModelWithoutToolsError extends InvalidInputError {
  constructor(modelName: string, runtime: string) {
    super(
      msg`The model ${modelName} does not support tools, which the runtime ${runtime} of the agent needs. Give the agent another model, or the runtime direct.`,
    );
  }
}

const REACHED: Readonly<Record<LimitReached, Message>> = {
  'max-steps': msg`its limit of steps`,
  'max-tool-calls': msg`the limit of tool calls in one answer`,
  'max-tokens': msg`the limit of tokens of one answer`,
};

export class NoAnswerInLimitsError extends DomainError {
  readonly code = 500;

  constructor(reached: LimitReached) {
    super(
      msg`The agent has reached ${REACHED[reached]}, and the model wrote no answer. Ask for less in one message.`,
    );
  }
}

export class TurnTooLongError extends DomainError {
  readonly code = 500;

  constructor(milliseconds: number) {
    super(
      msg`The answer took longer than ${Math.round(milliseconds / 1_000)} seconds and was ended here. Ask for less in one message.`,
    );
  }
}
