import type { OutboundHttp } from '../../../../outbound/index.js';
import { endpointOf } from '../address.js';
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
      prefix: '',
      // The bases of its other interfaces, which people copy from examples.
      endings: { '/v1': '', '/api': '' },
    });
  }

  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ChatCallOptions,
  ): AsyncIterable<readonly ChatPart[]> {
    const request = (): ChatRequest => this.request(call, connection, true);
    const withThinking = call.thinking !== false;
    return streamChat(this.http, request, options, {
      mapping: new OllamaStream(connection, withThinking),
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
    return {
      url: this.endpoint(connection.address),
      headers: {},
      body: toOllamaBody(call, stream),
      secrets: connection,
    };
  }
}
