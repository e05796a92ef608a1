import type { JsonObject } from './json.js';

/** The families of services, which differ in how they word an error and take a credential. */
export type Protocol = 'chat-completions' | 'messages' | 'ollama' | 'media-async' | 'dashscope';

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

/** The error object of a protocol. */
export function errorBody(protocol: Protocol, status: number, message: string): JsonObject {
  const type = ERROR_TYPES[status] ?? (protocol === 'messages' ? 'api_error' : 'server_error');
  switch (protocol) {
    case 'messages':
      return { type: 'error', error: { type, message }, request_id: 'req_simulated' };
    case 'ollama':
      return { error: message };
    case 'media-async':
      return { code: status, message, data: null };
    case 'dashscope':
      return { code: type, message, request_id: 'req_simulated' };
    case 'chat-completions':
      return { error: { message, type, param: null, code: type } };
  }
}
