import { Injectable } from '@nestjs/common';
import { defined } from '../../platform/http/index.js';
import { retryBeforeFirstPart } from '../../provider/index.js';
import type { ChatPart } from '../../provider/index.js';
import type { AgentRuntime, RuntimeTurn } from './agent-runtime.js';

/** One call of the model, without tools. */
@Injectable()
export class DirectRuntime implements AgentRuntime {
  readonly code = 'direct';
  readonly description = 'One call of the model, with the found fragments in the question';
  readonly usesTools = false;

  /** The iterable of the retries itself: a generator around it would cost every read a promise. */
  answer(turn: RuntimeTurn): AsyncIterable<readonly ChatPart[]> {
    const { messages, generation, signal } = turn;
    const { attempts, ...limits } = turn.limits;
    const open = async (): Promise<AsyncIterable<readonly ChatPart[]>> => {
      const model = await turn.currentModel();
      const call = { model: model.modelName, messages, ...defined(generation) };
      return model.adapter.stream(call, model.connection, { limits, signal });
    };
    return retryBeforeFirstPart(open, { attempts, signal });
  }
}
