import type { OutboundHttp } from '../../../../outbound/index.js';
import { endpointOf } from '../address.js';
import type { AddressForm } from '../address.js';
import type {
  ChatAdapter,
  ChatCall,
  ChatCallOptions,
  ChatCompletion,
  ChatPart,
  ModelConnection,
} from '../chat.adapter.js';
import { completeChat, streamChat } from '../chat-exchange.js';
import type { ChatRequest } from '../chat-exchange.js';
import { toMessagesBody } from './messages.request.js';
import { MessagesStream, toCompletion } from './messages.response.js';

const DEFAULT_PROTOCOL_VERSION = '2023-06-01';

export interface MessagesOptions {
  readonly code: string;
  readonly label: string;
  readonly address: Omit<AddressForm, 'endpoint'>;
}

/** The messages protocol: POST {address}/messages with x-api-key and anthropic-version. */
export class MessagesAdapter implements ChatAdapter {
  readonly code: string;
  readonly label: string;

  constructor(
    private readonly http: OutboundHttp,
    private readonly options: MessagesOptions,
  ) {
    this.code = options.code;
    this.label = options.label;
  }

  endpoint(address: string): string {
    return endpointOf(address, { ...this.options.address, endpoint: '/messages' });
  }

  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ChatCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const request = (): ChatRequest => this.request(call, connection, true);
    const withThinking = call.thinking !== false;
    return streamChat(this.http, request, options, {
      mapping: new MessagesStream(connection, withThinking),
      toCompletion: (answer) => toCompletion(answer, connection, withThinking),
    });
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ChatCallOptions,
  ): Promise<ChatCompletion> {
    const answer = await completeChat(this.http, this.request(call, connection, false), options);
    return toCompletion(answer, connection, call.thinking !== false);
  }

  private request(call: ChatCall, connection: ModelConnection, stream: boolean): ChatRequest {
    const key = connection.credential?.trim() ?? '';
    return {
      url: this.endpoint(connection.address),
      headers: {
        'anthropic-version': connection.protocolVersion?.trim() || DEFAULT_PROTOCOL_VERSION,
        ...(key !== '' && { 'x-api-key': key }),
      },
      body: toMessagesBody(call, stream),
      secrets: connection,
    };
  }
}
