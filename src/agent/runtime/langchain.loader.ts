import { Injectable } from '@nestjs/common';
import type { LangChain } from '../../langchain/index.js';
import { ModelResolver, UpstreamCalls } from '../../model/index.js';

/**
 * Loads LangChain with the first turn that needs it: it takes some 100 MB of memory and a second to load, which a service
 * without such agents does not pay. Import LangChain statically only in files that are loaded in the same way;
 * test/architecture/start.spec.ts checks it.
 */
@Injectable()
export class LangChainLoader {
  private langchain: LangChain | undefined;

  constructor(
    private readonly models: ModelResolver,
    private readonly calls: UpstreamCalls,
  ) {}

  async load(): Promise<LangChain> {
    const module = await import('../../langchain/index.js');
    this.langchain ??= new module.LangChain(this.models, this.calls);
    return this.langchain;
  }
}
