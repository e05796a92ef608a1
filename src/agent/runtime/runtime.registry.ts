import { Injectable } from '@nestjs/common';
import type { Provider } from '@nestjs/common';
import type { AgentRuntime } from './agent-runtime.js';
import { DirectRuntime } from './direct.runtime.js';
import { LangChainLoader } from './langchain.loader.js';
import { ModelWithoutToolsError, UnknownRuntimeError } from './runtime.errors.js';
import { ToolsRuntime } from './tools.runtime.js';

/** Abilities of a model; null and undefined mean unknown. */
interface ModelAbility {
  readonly modelName: string;
  readonly supportsTools?: boolean | null | undefined;
}

/** The runtimes by their codes. */
@Injectable()
export class AgentRuntimes {
  readonly all: readonly AgentRuntime[];

  constructor(
    readonly direct: DirectRuntime,
    tools: ToolsRuntime,
  ) {
    // A new runtime is one line here, and one in agentRuntimeProviders.
    this.all = [direct, tools];
  }

  /** Throws UnknownRuntimeError. */
  get(code: string): AgentRuntime {
    const runtime = this.all.find((one) => one.code === code);
    if (runtime) return runtime;
    throw new UnknownRuntimeError(
      code,
      this.all.map((one) => one.code),
    );
  }

  /** The runtime for a model; UnknownRuntimeError, and ModelWithoutToolsError when the record of the model says so. */
  forModel(code: string, model: ModelAbility): AgentRuntime {
    const runtime = this.get(code);
    if (!runtime.usesTools || model.supportsTools !== false) return runtime;
    throw new ModelWithoutToolsError(model.modelName, code);
  }
}

export const agentRuntimeProviders: Provider[] = [
  DirectRuntime,
  LangChainLoader,
  ToolsRuntime,
  AgentRuntimes,
];
