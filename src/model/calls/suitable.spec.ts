import { describe, expect, it } from '@jest/globals';
import { estimateTokens, IMAGE_TOKENS } from '../model-window.js';
import { estimateBodyTokens } from './call.route.js';

const WORDS = 'What is to be seen here?';
const ONE = estimateTokens(WORDS);
const DATA = 'iVBORw0KGgo'.repeat(10_000);

describe('the tokens of a relayed body', () => {
  it('of chat-completions are those of its texts, tools and images', () => {
    const url = `data:image/png;base64,${DATA}`;
    const content = [
      { type: 'text', text: WORDS },
      { type: 'image_url', image_url: { url, detail: 'low' } },
    ];
    const body = { model: 'm', messages: [{ role: 'user', content }], tools: [{ name: WORDS }] };

    expect(estimateBodyTokens(body)).toBe(2 * ONE + IMAGE_TOKENS);
  });

  it('of responses include the instructions, and nothing that is encrypted', () => {
    const image_url = `data:image/png;base64,${DATA}`;
    const content = [
      { type: 'input_text', text: WORDS },
      { type: 'input_image', image_url },
    ];
    const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: DATA };
    const input = [{ type: 'message', role: 'user', content }, reasoning];

    const body = { model: 'm', instructions: WORDS, input };
    expect(estimateBodyTokens(body)).toBe(2 * ONE + IMAGE_TOKENS);
    expect(estimateBodyTokens({ input: WORDS })).toBe(ONE);
  });

  it('of the messages protocol include the system prompt, and no bytes of images', () => {
    const source = { type: 'base64', media_type: 'image/png', data: DATA };
    const body = {
      model: 'm',
      system: [{ type: 'text', text: WORDS, cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: WORDS },
            { type: 'image', source },
          ],
        },
      ],
    };

    expect(estimateBodyTokens(body)).toBe(2 * ONE + IMAGE_TOKENS);
  });
});
