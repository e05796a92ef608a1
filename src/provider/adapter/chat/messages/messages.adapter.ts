import type { OutboundHttp } from '../../../../outbound/index.js';
import { endpointOf } from '../../address.js';
import type { AddressForm } from '../../address.js';
import type { ModelCallOptions, ModelConnection } from '../../model-call.js';
import { postForJson } from '../../model-exchange.js';
import type { ModelRequest } from '../../model-exchange.js';
import { streamChat } from '../chat-exchange.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from '../chat.adapter.js';
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
    options: ModelCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const request = (): ModelRequest => this.request(call, connection, true);
    const withThinking = call.thinking !== false;
    return streamChat(this.http, request, options, {
      mapping: new MessagesStream(connection, withThinking),
      toCompletion: (answer) => toCompletion(answer, connection, withThinking),
    });
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion> {
    const answer = await postForJson(this.http, this.request(call, connection, false), options);
    return toCompletion(answer, connection, call.thinking !== false);
  }

  private request(call: ChatCall, connection: ModelConnection, stream: boolean): ModelRequest {
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
