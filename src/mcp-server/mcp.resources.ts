import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { baseOf } from './mcp.errors.js';
import { McpTools } from './mcp.tools.js';

/** The permission of keys to call tools of tool servers. */
export const GATEWAY_PERMISSION = 'mcp:tool:use';

/** An address of the protocol, which tokens of OAuth are for. */
export interface McpResource {
  readonly address: string;
  readonly name: string;
  /** What clients can ask for. */
  readonly permissions: readonly string[];
}

@Injectable()
export class McpResources {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly tools: McpTools,
  ) {}

  /** All of them, the default one first. */
  get all(): readonly [McpResource, McpResource] {
    const address = `${baseOf(this.config)}/mcp`;
    return [
      { address, name: 'Plinth', permissions: this.tools.permissions() },
      { address: `${address}/gateway`, name: 'Tool servers', permissions: [GATEWAY_PERMISSION] },
    ];
  }
}
