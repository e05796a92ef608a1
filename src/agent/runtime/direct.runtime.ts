import { Injectable } from '@nestjs/common';
import { UpstreamCalls } from '../../model/index.js';
import { defined } from '../../platform/http/index.js';
import type { ChatPart } from '../../provider/index.js';
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
    const call = { messages, ...defined(generation) };
    const current = turn.currentModel;
    return this.calls.stream(turn.model, () => call, { use, limits, signal, attempts, current });
  }
}
