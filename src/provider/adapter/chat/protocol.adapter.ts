import type { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ModelCallOptions, ModelConnection } from '../model-call.js';
import { postForJson } from '../model-exchange.js';
import type { ModelRequest } from '../model-exchange.js';
import type { Secrets } from '../safe-text.js';
import { streamChat } from './chat-exchange.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from './chat.adapter.js';
import type { StreamMapping } from './stream-mapping.js';

/** What a vendor's protocol has of its own. Does no I/O. */
export interface ChatProtocol {
  readonly code: string;
  readonly label: string;
  /** The URL that calls go to; InvalidAddressError. */
  endpoint(address: string): string;
  headers(connection: ModelConnection): Record<string, string>;
  body(call: ChatCall, stream: boolean): object;
  /** A new one for each streamed answer. */
  mapping(secrets: Secrets, withThinking: boolean): StreamMapping;
  /** Maps an answer in one piece. Throws UpstreamError. */
  toCompletion(answer: unknown, secrets: Secrets, withThinking: boolean): ChatCompletion;
}

/** Calls models by a protocol. */
export class ProtocolAdapter implements ChatAdapter {
  readonly code: string;
  readonly label: string;

  constructor(
    private readonly http: OutboundHttp,
    private readonly protocol: ChatProtocol,
  ) {
    this.code = protocol.code;
    this.label = protocol.label;
  }

  endpoint(address: string): string {
    return this.protocol.endpoint(address);
  }

  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const { protocol } = this;
    const withThinking = call.thinking !== false;
    return streamChat(this.http, () => this.request(call, connection, true), options, {
      mapping: protocol.mapping(connection, withThinking),
      toCompletion: (answer) => protocol.toCompletion(answer, connection, withThinking),
    });
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion> {
    const answer = await postForJson(this.http, this.request(call, connection, false), options);
    return this.protocol.toCompletion(answer, connection, call.thinking !== false);
  }

  private request(call: ChatCall, connection: ModelConnection, stream: boolean): ModelRequest {
    return {
      url: this.protocol.endpoint(connection.address),
      headers: this.protocol.headers(connection),
      body: this.protocol.body(call, stream),
      secrets: connection,
    };
  }
}
