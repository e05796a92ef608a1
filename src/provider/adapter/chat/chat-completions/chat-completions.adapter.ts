import type { OutboundHttp } from '../../../../outbound/index.js';
import { endpointOf, FAMILY_ENDPOINTS } from '../../address.js';
import type { AddressForm } from '../../address.js';
import { bearerOf } from '../../bearer.js';
import type { ModelCallOptions, ModelConnection } from '../../model-call.js';
import { postForJson } from '../../model-exchange.js';
import type { ModelRequest } from '../../model-exchange.js';
import { streamChat } from '../chat-exchange.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from '../chat.adapter.js';
import { toChatCompletionsBody } from './chat-completions.request.js';
import type { ChatCompletionsDialect } from './chat-completions.request.js';
import { ChatCompletionsStream, toCompletion } from './chat-completions.response.js';

export interface ChatCompletionsOptions {
  readonly code: string;
  readonly label: string;
  readonly address: Omit<AddressForm, 'endpoint'>;
  readonly dialect: ChatCompletionsDialect;
}

/** The chat-completions protocol: POST {address}/chat/completions with a bearer key. */
export class ChatCompletionsAdapter implements ChatAdapter {
  readonly code: string;
  readonly label: string;

  constructor(
    private readonly http: OutboundHttp,
    private readonly options: ChatCompletionsOptions,
  ) {
    this.code = options.code;
    this.label = options.label;
  }

  endpoint(address: string): string {
    return endpointOf(address, {
      ...this.options.address,
      endpoint: '/chat/completions',
      siblings: FAMILY_ENDPOINTS,
    });
  }

  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const request = (): ModelRequest => this.request(call, connection, true);
    const withThinking = call.thinking !== false;
    return streamChat(this.http, request, options, {
      mapping: new ChatCompletionsStream(connection, withThinking),
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
    return {
      url: this.endpoint(connection.address),
      headers: bearerOf(connection.credential),
      body: toChatCompletionsBody(call, stream, this.options.dialect),
      secrets: connection,
    };
  }
}
