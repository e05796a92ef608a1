import type { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ModelCallOptions, ModelConnection } from '../model-call.js';
import { postForJson } from '../model-exchange.js';
import type { ModelRequest } from '../model-exchange.js';
import { NamedAdapter } from '../named-adapter.js';
import type { AdapterNames } from '../named-adapter.js';
import type { Secrets } from '../safe-text.js';
import { streamChat } from './chat-exchange.js';
import type { ChatExchange } from './chat-exchange.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from './chat.adapter.js';
import type { AnswerStream } from './stream-mapping.js';

/** What a protocol has of its own. Does no I/O. */
export interface ChatProtocol {
  /** The URL that calls go to; InvalidAddressError. */
  endpoint(address: string): string;
  headers(connection: ModelConnection): Record<string, string>;
  body(call: ChatCall, stream: boolean): object;
  /** A new one for each streamed answer. */
  answerStream(secrets: Secrets, withThinking: boolean): AnswerStream;
  /** Maps an answer in one piece. Throws UpstreamError. */
  toCompletion(answer: unknown, secrets: Secrets, withThinking: boolean): ChatCompletion;
}

/** Calls the models of a vendor by its protocol. A vendor of several protocols selects one by the address. */
export class ProtocolAdapter extends NamedAdapter implements ChatAdapter {
  constructor(
    private readonly http: OutboundHttp,
    names: AdapterNames,
    private readonly protocolAt: (address: string) => ChatProtocol,
  ) {
    super(names);
  }

  endpoint(address: string): string {
    return this.protocolAt(address).endpoint(address);
  }

  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const withThinking = call.thinking !== false;
    const exchange = (): ChatExchange => {
      const protocol = this.protocolAt(connection.address);
      return {
        request: requestOf(protocol, call, connection, true),
        answer: protocol.answerStream(connection, withThinking),
        toCompletion: (answer) => protocol.toCompletion(answer, connection, withThinking),
      };
    };
    return streamChat(this.http, exchange, options);
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion> {
    const protocol = this.protocolAt(connection.address);
    const request = requestOf(protocol, call, connection, false);
    const answer = await postForJson(this.http, request, options);
    return protocol.toCompletion(answer, connection, call.thinking !== false);
  }
}

function requestOf(
  protocol: ChatProtocol,
  call: ChatCall,
  connection: ModelConnection,
  stream: boolean,
): ModelRequest {
  return {
    url: protocol.endpoint(connection.address),
    headers: protocol.headers(connection),
    body: protocol.body(call, stream),
    secrets: connection,
  };
}
