import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { Caller } from '../../platform/access/index.js';
import { turnLimits } from '../../chat/index.js';
import { UpstreamCalls } from '../../model/index.js';
import type { CallTrail, ResolvedChatModel } from '../../model/index.js';
import type { ChatProtocolName, RelayedBody, RelayOptions } from '../../provider/index.js';

export interface CountOptions extends Pick<RelayOptions, 'headers' | 'signal'> {
  readonly trail: CallTrail;
}

/** Tokens of requests as their services count them. */
@Injectable()
export class RelayedCounts {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly calls: UpstreamCalls,
  ) {}

  /** Undefined where the service speaks another protocol or does not count. Fails like UpstreamCalls. */
  async count(
    caller: Caller,
    model: ResolvedChatModel,
    { protocol, body }: { readonly protocol: ChatProtocolName; readonly body: RelayedBody },
    { trail, ...options }: CountOptions,
  ): Promise<number | undefined> {
    const { adapter, connection } = model;
    if (!adapter.canRelay(connection.address, protocol)) return undefined;
    const { attempts, ...limits } = turnLimits(this.config);
    const use = { caller, feature: 'chat', trail } as const;
    const counted = await this.calls.countTokens(model, body, {
      ...options,
      use,
      limits,
      attempts,
    });
    return counted?.input_tokens;
  }
}
