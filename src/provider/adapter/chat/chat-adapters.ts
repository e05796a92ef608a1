import type { OutboundHttp } from '../../../outbound/index.js';
import type { ChatAdapter } from './chat.adapter.js';
import { ChatCompletionsAdapter } from './chat-completions/chat-completions.adapter.js';
import { MessagesAdapter } from './messages/messages.adapter.js';
import { OllamaAdapter } from './ollama/ollama.adapter.js';
import { PathChoiceAdapter } from './path-choice.adapter.js';
import {
  chatCompletionsPresets,
  customChatCompletions,
  customMessages,
  minimax,
} from './presets.js';

/** Every chat adapter there is. A new vendor is a line of presets.ts, or a folder and a line here. */
export function chatAdapters(http: OutboundHttp): readonly ChatAdapter[] {
  return [
    ...chatCompletionsPresets.map((preset) => new ChatCompletionsAdapter(http, preset)),
    minimaxAdapter(http),
    new OllamaAdapter(http),
    new ChatCompletionsAdapter(http, customChatCompletions),
    new MessagesAdapter(http, customMessages),
  ];
}

function minimaxAdapter(http: OutboundHttp): ChatAdapter {
  const { code, label, messagesPath, messages, completions } = minimax;
  return new PathChoiceAdapter({
    code,
    label,
    path: messagesPath,
    matching: new MessagesAdapter(http, { code, label, address: messages }),
    otherwise: new ChatCompletionsAdapter(http, { code, label, ...completions }),
  });
}
