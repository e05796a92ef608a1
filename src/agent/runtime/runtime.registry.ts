import { Injectable } from '@nestjs/common';
import type { AgentRuntime } from './agent-runtime.js';
import { DirectRuntime } from './direct.runtime.js';

/** The runtimes by their codes. */
@Injectable()
export class AgentRuntimes {
  readonly all: readonly AgentRuntime[];

  constructor(readonly direct: DirectRuntime) {
    this.all = [direct];
  }

  find(code: string): AgentRuntime | undefined {
    return this.all.find((runtime) => runtime.code === code);
  }
}
