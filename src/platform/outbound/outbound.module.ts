import { Global, Inject, Module } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { OutboundHttp } from './outbound-http.js';

/** The one HTTP client for addresses that users enter; closed when the process stops. */
@Global()
@Module({
  providers: [
    {
      provide: OutboundHttp,
      inject: [CONFIG],
      useFactory: (config: Config) =>
        new OutboundHttp({
          allowedPrivateHosts: config.allowedPrivateHosts,
          ...config.outbound,
        }),
    },
  ],
  exports: [OutboundHttp],
})
export class OutboundModule implements OnApplicationShutdown {
  constructor(@Inject(OutboundHttp) private readonly http: OutboundHttp) {}

  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }
}
