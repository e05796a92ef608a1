import { Global, Module } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { ConsoleFiles } from './console-files.js';

/** The web console, where its build is part of the installation. */
@Global()
@Module({
  providers: [
    {
      provide: ConsoleFiles,
      useFactory: (config: Config) => new ConsoleFiles(config),
      inject: [CONFIG],
    },
  ],
  exports: [ConsoleFiles],
})
export class ConsoleModule {}
