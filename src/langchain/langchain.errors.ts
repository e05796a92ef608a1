import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

/** A LangChain message that the adapters cannot send. Nothing of the conversation was sent. */
export class UnsupportedMessageError extends InvalidInputError {
  static part(type: string, role: string): UnsupportedMessageError {
    return new UnsupportedMessageError(
      msg`A content part of type "${type}" cannot be sent in a message of type ${role}. Send ${role === 'human' ? msg`text and images` : msg`text`}.`,
    );
  }

  static message(type: string): UnsupportedMessageError {
    return new UnsupportedMessageError(
      msg`A message of type "${type}" cannot be sent. Send messages of type system, human, ai and tool.`,
    );
  }
}

/** A tool, tool choice or option of a call that the adapters do not know. */
export class UnsupportedOptionError extends InvalidInputError {}

/** The model's record says that it cannot do what the call needs. */
export class ModelAbilityError extends InvalidInputError {
  static tools(modelName: string): ModelAbilityError {
    return new ModelAbilityError(
      msg`The model ${modelName} does not support tools. Choose another model, or call it without tools.`,
    );
  }

  static images(modelName: string): ModelAbilityError {
    return new ModelAbilityError(
      msg`The model ${modelName} does not support images. Choose another model, or send text only.`,
    );
  }
}
