import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { makeKey } from '../../support/api-keys.js';
import { closeCompatibleApi, failureOf, openCompatibleApi } from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { pdfOf } from '../../support/documents/pdf.js';

const SENTENCE = 'The warranty of the blue lamp lasts seven years.';
const PDF = pdfOf([SENTENCE]).toString('base64');

let world: CompatibleApi;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  world = await openCompatibleApi();
  const { key: apiKey } = await makeKey(world.admin, { permissions: ['chat:chat:use'] });
  const { url } = world.plinth;
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: url, apiKey, authToken: null, maxRetries: 0 });
});

afterEach(() => world.simulator.reset());
afterAll(() => closeCompatibleApi(world));

type FilePart = OpenAI.ChatCompletionContentPart.File;

function pdf(file: Partial<FilePart['file']> = {}): FilePart {
  const data = `data:application/pdf;base64,${PDF}`;
  return { type: 'file', file: { filename: 'lamp.pdf', file_data: data, ...file } };
}

function asking(
  model: string,
  ...files: FilePart[]
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const text = { type: 'text', text: 'How long does it last?' } as const;
  return { model, messages: [{ role: 'user', content: [text, ...files] }] };
}

function sent(): string {
  return JSON.stringify(world.simulator.requests.at(-1)?.body);
}

describe('a file of a chat completion', () => {
  it.each(['sim-messages', 'sim-ollama'])('is read for %s', async (model) => {
    world.simulator.script({ text: 'Seven years.' }, { text: 'Seven.' });
    await openai.chat.completions.create(asking(model, pdf()));
    expect(sent()).toContain(SENTENCE);
    expect(sent()).toContain('lamp.pdf');
    expect(sent()).not.toContain(PDF.slice(0, 200));
    // The next turn of the conversation sends it again.
    await openai.chat.completions.create(asking(model, pdf({ file_data: PDF })));
    expect(sent()).toContain(SENTENCE);
  });

  it('is read for an agent', async () => {
    await openai.chat.completions.create(asking(`agent-${world.agentId}`, pdf()));
    expect(JSON.stringify(world.simulator.requests.map(({ body }) => body))).toContain(SENTENCE);
  });

  it('is passed on to a model that is relayed', async () => {
    const body = asking('sim-chat', pdf());
    await openai.chat.completions.create(body);
    expect(world.simulator.requests.at(-1)?.body).toMatchObject({ messages: body.messages });
  });

  it('that cannot be read is named', async () => {
    const broken = pdf({ file_data: `data:application/pdf;base64,${btoa('%PDF-1.7 broken')}` });
    for (const [files, param, message] of [
      [[broken], 'messages[0].content[1].file.file_data', 'lamp.pdf'],
      [
        [pdf({ file_data: 'https://files.test/a.pdf' })],
        'messages[0].content[1].file.file_data',
        'base64',
      ],
      [
        Array.from({ length: 21 }, () => pdf()),
        'messages[0].content[21].file.file_data',
        '20 files',
      ],
    ] as const) {
      const call = openai.chat.completions.create(asking('sim-messages', ...files));
      const error = await failureOf(OpenAI.APIError, call);
      expect([error.status, error.param]).toEqual([400, param]);
      expect(error.message).toContain(message);
    }
    expect(world.simulator.requests).toEqual([]);
  });

  it('by the id of an upload elsewhere is refused by its name', async () => {
    const file = { type: 'file', file: { file_id: 'file-1' } } as const;
    const call = openai.chat.completions.create(asking('sim-messages', file));
    const error = await failureOf(OpenAI.APIError, call);
    expect([error.status, error.param]).toEqual([400, 'messages[0].content[1].file.file_data']);
  });
});

describe('a document of a message', () => {
  const source = { type: 'base64', media_type: 'application/pdf', data: PDF } as const;
  const documents: [string, Anthropic.ContentBlockParam[], string[]][] = [
    [
      'a PDF',
      [{ type: 'document', source, title: 'Lamp', context: 'From the shop.' }],
      [SENTENCE, 'Lamp', 'From the shop.'],
    ],
    [
      'a text',
      [
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: SENTENCE },
          citations: { enabled: true },
          cache_control: { type: 'ephemeral' },
        },
      ],
      [SENTENCE],
    ],
    [
      'content',
      [
        {
          type: 'document',
          source: { type: 'content', content: [{ type: 'text', text: SENTENCE }] },
        },
      ],
      [SENTENCE],
    ],
    [
      'a search result',
      [
        {
          type: 'search_result',
          source: 'https://shop.test/lamp',
          title: 'Lamp',
          content: [{ type: 'text', text: SENTENCE }],
        },
      ],
      [SENTENCE, 'https://shop.test/lamp'],
    ],
  ];

  it.each(documents)('is read for other protocols: %s', async (_kind, blocks, texts) => {
    for (const model of ['sim-chat', 'sim-ollama']) {
      await anthropic.messages.create({
        model,
        max_tokens: 50,
        messages: [{ role: 'user', content: [...blocks, { type: 'text', text: 'How long?' }] }],
      });
      for (const text of texts) expect(sent()).toContain(text);
    }
  });

  it('in the result of a tool follows that', async () => {
    await anthropic.messages.create({
      model: 'sim-chat',
      max_tokens: 50,
      messages: [
        { role: 'user', content: 'How long?' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't1', name: 'look_up', input: {} }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'document', source }] },
          ],
        },
      ],
    });
    expect(sent()).toContain(SENTENCE);
  });

  it('has no field that says nothing', async () => {
    world.simulator.script({ text: 'Seven years.' });
    const answer = await anthropic.messages.create({
      model: 'sim-chat',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'How long?' }],
    });
    expect(answer.content).toEqual([{ type: 'text', text: 'Seven years.' }]);
    const nulls = Object.entries({ ...answer, ...answer.usage }).filter(([, one]) => one === null);
    expect(nulls.map(([name]) => name)).toEqual(['stop_sequence']);
  });

  it('at an address is refused by its name', async () => {
    const call = anthropic.messages.create({
      model: 'sim-chat',
      max_tokens: 50,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'url', url: 'https://files.test/a.pdf' } }],
        },
      ],
    });
    const error = await failureOf(Anthropic.APIError, call);
    expect(error.message).toContain('messages[0].content[0].source.type');
  });
});
