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
    return endpointOf(address, { ...this.options.address, endpoint: '/chat/completions' });
  }

  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ChatCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const request = (): ChatRequest => this.request(call, connection, true);
    const withThinking = call.thinking !== false;
    return streamChat(this.http, request, options, {
      mapping: new ChatCompletionsStream(connection, withThinking),
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
      // An empty bearer token makes some gateways answer 401 that need no key at all.
      headers: key === '' ? {} : { authorization: `Bearer ${key}` },
      body: toChatCompletionsBody(call, stream, this.options.dialect),
      secrets: connection,
    };
  }
}
