import type { OutboundHttp } from '../../../../outbound/index.js';
import { endpointOf, LOCAL_ENDPOINTS } from '../../address.js';
import type { ModelCallOptions, ModelConnection } from '../../model-call.js';
import { postForJson } from '../../model-exchange.js';
import type { ModelRequest } from '../../model-exchange.js';
import { streamChat } from '../chat-exchange.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from '../chat.adapter.js';
import { toOllamaBody } from './ollama.request.js';
import { OllamaStream, toCompletion } from './ollama.response.js';

/** Ollama's own protocol: POST {address}/api/chat, answers as JSON lines. Reads no key. */
export class OllamaAdapter implements ChatAdapter {
  readonly code = 'ollama';
  readonly label = 'Ollama';

  constructor(private readonly http: OutboundHttp) {}

  endpoint(address: string): string {
    return endpointOf(address, {
      endpoint: '/api/chat',
      siblings: LOCAL_ENDPOINTS,
      prefix: '',
      // The bases of its other interfaces, which people copy from examples.
      endings: { '/v1': '', '/api': '' },
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
      mapping: new OllamaStream(connection, withThinking),
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
      headers: {},
      body: toOllamaBody(call, stream),
      secrets: connection,
    };
  }
}
