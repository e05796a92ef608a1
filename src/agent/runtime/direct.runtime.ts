import { Injectable } from '@nestjs/common';
import { LearnedWindow, UpstreamCalls } from '../../model/index.js';
import type { ChatCall, ChatPart } from '../../provider/index.js';
import type { AgentRuntime, RuntimeTurn } from './agent-runtime.js';

/** One call of the model, without tools. */
@Injectable()
export class DirectRuntime implements AgentRuntime {
  readonly code = 'direct';
  readonly description = 'One call of the model, with the found fragments in the question';
  readonly usesTools = false;

  constructor(private readonly calls: UpstreamCalls) {}

  answer(turn: RuntimeTurn): AsyncIterable<readonly ChatPart[]> {
    const { use, messages, generation, signal } = turn;
    const { attempts, ...limits } = turn.limits;
    const fitted = new LearnedWindow().call(messages);
    const callOf = (): Omit<ChatCall, 'model'> => ({
      messages: fitted.messages,
      ...generation,
    });
    const { currentModel: current } = turn;
    const { overflow } = fitted;
    return this.calls.stream(turn.model, callOf, {
      use,
      limits,
      signal,
      attempts,
      current,
      overflow,
    });
  }
}
