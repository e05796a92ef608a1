import { Injectable } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import type { LangChain } from '../../langchain/index.js';

/**
 * Loads LangChain with the first turn that needs it: it takes some 100 MB of memory and a second to load, which a service
 * without such agents does not pay. Import LangChain statically only in files that are loaded in the same way.
 */
@Injectable()
export class LangChainLoader {
  constructor(private readonly modules: LazyModuleLoader) {}

  async load(): Promise<LangChain> {
    const { LangChain, LangChainModule } = await import('../../langchain/index.js');
    const module = await this.modules.load(() => LangChainModule);
    return module.get(LangChain);
  }
}
