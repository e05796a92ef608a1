import { AsSent, Given, Input } from '../../platform/http/index.js';
import { TRANSCRIPT_FORMATS } from '../../provider/index.js';

const OBJECT = { type: 'object', additionalProperties: true } as const;
const OBJECTS = { type: 'array', items: OBJECT } as const;
const TEXT = { type: 'string' } as const;
/** Nest drops the type Array next to oneOf, and accepts no schema without a type. */
const EITHER = { type: Array } as const;
const TEXTS = { ...EITHER, oneOf: [TEXT, { type: 'array', items: TEXT }] } as const;
const TOKENS = { type: 'array', items: { type: 'integer' } } as const;
const FLAG = { type: 'boolean' } as const;
const NUMBER = { type: 'number' } as const;
const INTEGER = { type: 'integer' } as const;

/**
 * The parameters that Plinth reads; a model that speaks the protocol itself gets every other one as well. They are checked by
 * chat-completions.protocol.ts, whose errors name the parameter.
 */
@AsSent()
export class ChatCompletionBody extends Input({
  model: Given(TEXT, {
    description: 'Required. The modelName of a chat model, or agent-<id> of an agent',
    example: 'gpt-4o-mini',
  }),
  messages: Given(OBJECTS, {
    description: 'Required. The conversation, oldest first',
    example: [{ role: 'user', content: 'Hello' }],
  }),
  stream: Given(FLAG, { description: 'Server-sent events, and data: [DONE] at the end' }),
  stream_options: Given(OBJECT, { description: 'include_usage: the last chunk has the usage' }),
  tools: Given(OBJECTS, { description: 'Functions that the model may call' }),
  tool_choice: Given(
    { ...EITHER, oneOf: [TEXT, OBJECT] },
    {
      description:
        'auto, none, required, {type: "function", function: {name}}, or {type: "allowed_tools", allowed_tools: {mode, tools}}',
    },
  ),
  parallel_tool_calls: Given(FLAG, { description: 'false: one call at a time' }),
  response_format: Given(OBJECT, { description: 'Of type text, json_object or json_schema' }),
  reasoning_effort: Given(TEXT, {
    description: 'none, or a word that the service of the model knows',
  }),
  temperature: Given(NUMBER, { description: '0 to 2' }),
  top_p: Given(NUMBER, { description: '0 to 1' }),
  max_tokens: Given(INTEGER, { description: 'Maximum tokens of the answer' }),
  max_completion_tokens: Given(INTEGER, { description: 'The newer name of max_tokens' }),
  stop: Given(TEXTS, { description: 'Stop sequences' }),
  seed: Given(INTEGER, { description: 'Where the model supports it' }),
  n: Given(INTEGER, { description: '1' }),
}) {}

@AsSent()
export class TextCompletionBody extends Input({
  model: Given(TEXT, { description: 'Required. The modelName of a chat model' }),
  prompt: Given(
    { ...EITHER, oneOf: [...TEXTS.oneOf, TOKENS, { type: 'array', items: TOKENS }] },
    { description: 'Required. A text, at most 20 texts, or token ids of cl100k_base' },
  ),
  suffix: Given(TEXT, { description: 'What follows: the answer belongs between' }),
  max_tokens: Given(INTEGER, { description: 'Maximum tokens of each answer; default 16' }),
  stream: Given(FLAG, { description: 'Server-sent events, and data: [DONE] at the end' }),
  stream_options: Given(OBJECT, { description: 'include_usage: the last chunk has the usage' }),
  echo: Given(FLAG, { description: 'Repeat the prompt before the answer' }),
  temperature: Given(NUMBER, { description: '0 to 2' }),
  top_p: Given(NUMBER, { description: '0 to 1' }),
  stop: Given(TEXTS, { description: 'Stop sequences' }),
  seed: Given(INTEGER, { description: 'Where the model supports it' }),
  n: Given(INTEGER, { description: '1' }),
}) {}

@AsSent()
export class RerankBody extends Input({
  model: Given(TEXT, { description: 'Required. The modelName of a rerank model' }),
  query: Given(TEXT, { description: 'Required' }),
  documents: Given(
    { type: 'array', items: { oneOf: [TEXT, OBJECT] } },
    { description: 'Required. At most 1000 texts, or objects with a text' },
  ),
  top_n: Given(INTEGER, { description: 'So many of the best; default all' }),
  return_documents: Given(FLAG, { description: 'Repeat the documents beside their scores' }),
}) {}

@AsSent()
export class ModerationBody extends Input({
  model: Given(TEXT, {
    description: 'The modelName of a moderation model; default the first that the caller can use',
  }),
  input: Given(
    { ...EITHER, oneOf: [...TEXTS.oneOf, OBJECTS] },
    { description: 'Required. A text, a list of texts, or parts of type text and image_url' },
  ),
}) {}

@AsSent()
export class ImageGenerationBody extends Input({
  model: Given(TEXT, { description: 'Required. The modelName of an image model' }),
  prompt: Given(TEXT, { description: 'Required. What is to be seen' }),
  n: Given(INTEGER, { description: '1 to 10. Each image is a call of its own' }),
  size: Given(TEXT, { description: 'A size of the model, or auto', example: '1024x1024' }),
  response_format: Given(TEXT, {
    description:
      'url or b64_json; default what the service answers. An image of which the service answers the address is fetched for b64_json',
  }),
  user: Given(TEXT, { description: 'Not read' }),
}) {}

@AsSent()
export class ImageEditBody extends Input({
  model: Given(TEXT, { description: 'Required. The modelName of an image model' }),
  prompt: Given(TEXT, { description: 'Required. What is to be changed' }),
  images: Given(OBJECTS, {
    description: 'Of a request as JSON: {image_url} with an https or a data address, at most 16',
  }),
  mask: Given(OBJECT, { description: 'Of a request as JSON: {image_url}' }),
  n: Given(INTEGER, { description: '1 to 10; default 1' }),
  size: Given(TEXT, { description: 'A size of the model, or auto', example: '1024x1024' }),
  response_format: Given(TEXT, { description: 'As for images/generations' }),
}) {}

export const IMAGE_EDIT_FORM = {
  files: ['image', 'image[]', 'mask'],
  maxFiles: 17,
  required: ['model', 'prompt'],
  fields: {
    model: { ...TEXT, description: 'The modelName of an image model' },
    prompt: { ...TEXT, description: 'What is to be changed' },
    n: { ...INTEGER, description: '1 to 10; default 1' },
    size: { ...TEXT, description: 'A size of the model, or auto' },
    response_format: { ...TEXT, enum: ['url', 'b64_json'] },
  },
};

@AsSent()
export class SpeechGenerationBody extends Input({
  model: Given(TEXT, { description: 'Required. The modelName of a speech model' }),
  input: Given(TEXT, { description: 'Required. What is to be said' }),
  voice: Given(TEXT, { description: 'A voice of the model', example: 'alloy' }),
  response_format: Given(TEXT, { description: 'A format of the model; default mp3' }),
  speed: Given(NUMBER, { description: '0.25 to 4, where the model supports it' }),
  instructions: Given(TEXT, { description: 'How to say it, where the model supports it' }),
  stream_format: Given(TEXT, { description: 'audio' }),
}) {}

@AsSent()
export class EmbeddingsBody extends Input({
  model: Given(TEXT, {
    description: 'Required. The modelName of an embedding model',
    example: 'text-embedding-3-small',
  }),
  input: Given(
    { ...EITHER, oneOf: [...TEXTS.oneOf, TOKENS, { type: 'array', items: TOKENS }] },
    {
      description:
        'Required. A text, or a list of at most 2048. A list of token ids of cl100k_base stands for a text',
    },
  ),
  encoding_format: Given(TEXT, { description: 'float or base64; default float' }),
  dimensions: Given(INTEGER, { description: 'Size of the vectors, where the model supports it' }),
  user: Given(TEXT, { description: 'Not read' }),
}) {}

/** Form fields besides the file are texts. openai.transcription.ts validates them; services accept further fields. */
@AsSent()
export class TranscriptionBody extends Input({ model: Given(TEXT) }) {}

const TRANSCRIPT_FIELDS = {
  model: { ...TEXT, description: 'Required. The modelName of a transcription model' },
  prompt: { ...TEXT, description: 'Words or the text before, as a hint' },
  response_format: {
    ...TEXT,
    enum: [...TRANSCRIPT_FORMATS],
    description: 'Default json; not every service has all of them',
  },
  temperature: { ...NUMBER, description: '0 to 1' },
};

const SOUND = { files: ['file'], maxFiles: 1, required: ['file', 'model'] };

export const TRANSCRIPTION_FORM = {
  ...SOUND,
  fields: {
    ...TRANSCRIPT_FIELDS,
    language: { ...TEXT, description: 'Of the sound, as ISO 639-1', example: 'en' },
    stream: { ...FLAG, description: 'Server-sent events transcript.text.delta and .done' },
    'timestamp_granularities[]': {
      type: 'array',
      items: { ...TEXT, enum: ['word', 'segment'] },
      description: 'With verbose_json',
    },
  },
};

export const TRANSLATION_FORM = { ...SOUND, fields: TRANSCRIPT_FIELDS };
