import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { AgentTools } from '../tool/tool.registry.js';
import type { AgentRuntime, RuntimeTurn, TurnPart } from './agent-runtime.js';
import { LangChainLoader } from './langchain.loader.js';
import { TurnTooLongError } from './runtime.errors.js';
import type { LoopLimits } from './tool-loop.js';

/** Tool calls of one turn. */
const MAX_TOOL_CALLS = 40;

/** The loop of a model with tools: it calls tools until it answers, within limits. */
@Injectable()
export class ToolsRuntime implements AgentRuntime {
  readonly code = 'tools';
  readonly description = 'The model calls the tools of the agent until it can answer';
  readonly usesTools = true;
  private readonly limits: LoopLimits;

  constructor(
    @Inject(CONFIG)
    config: Pick<Config, 'AGENT_MAX_STEPS' | 'AGENT_MAX_TOKENS'>,
    private readonly langchain: LangChainLoader,
    private readonly tools: AgentTools,
  ) {
    this.limits = {
      steps: config.AGENT_MAX_STEPS,
      calls: MAX_TOOL_CALLS,
      tokens: config.AGENT_MAX_TOKENS,
    };
  }

  /** Resolves the reader's return only when no tool and no call of the model runs any more. */
  async *answer(turn: RuntimeTurn): AsyncGenerator<readonly TurnPart[], void, void> {
    const langchain = await this.langchain.load();
    const { ToolLoop } = await import('./tool-loop.js');
    const end = new AbortController();
    const stop = (): void => end.abort(turn.signal.reason);
    if (turn.signal.aborted) stop();
    turn.signal.addEventListener('abort', stop, { once: true });
    const { totalMs } = turn.limits;
    const timer = setTimeout(() => end.abort(new TurnTooLongError(totalMs)), totalMs);
    const limits = {
      ...this.limits,
      steps: Math.min(turn.maxSteps ?? Infinity, this.limits.steps),
    };
    const loop = new ToolLoop(turn, { tools: this.tools, langchain }, limits, end.signal);
    const work = loop.run();
    try {
      yield* loop.parts.read();
    } finally {
      clearTimeout(timer);
      turn.signal.removeEventListener('abort', stop);
      end.abort(new Error('The turn has ended.'));
      await work;
    }
  }
}
