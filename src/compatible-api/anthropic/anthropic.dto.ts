import { AsSent, Given, Input, Text, Whole } from '../../platform/http/index.js';

const MAX_ID_CHARS = 220;
export const USUAL_MODELS_PAGE = 20;
const MAX_MODELS_PAGE = 1_000;

/** Query of the model list for clients that send anthropic-version. */
export class ModelsQuery extends Input({
  limit: Whole({
    optional: true,
    min: 1,
    max: MAX_MODELS_PAGE,
    description: `Models of a page; default ${USUAL_MODELS_PAGE}. With anthropic-version alone, as the other two`,
  }),
  after_id: Text({ optional: true, max: MAX_ID_CHARS, description: 'The page after this model' }),
  before_id: Text({ optional: true, max: MAX_ID_CHARS, description: 'The page before this model' }),
}) {}

const OBJECT = { type: 'object', additionalProperties: true } as const;
const OBJECTS = { type: 'array', items: OBJECT } as const;
const TEXT = { type: 'string' } as const;
/** Nest drops the type Array next to oneOf, and accepts no schema without a type. */
const TEXT_OR_OBJECTS = { type: Array, oneOf: [TEXT, OBJECTS] } as const;
const FLAG = { type: 'boolean' } as const;
const NUMBER = { type: 'number' } as const;
const INTEGER = { type: 'integer' } as const;

const PROMPT = {
  model: Given(TEXT, {
    description: 'Required. The modelName of a chat model, or agent-<id> of an agent',
    example: 'claude-sonnet-4-5',
  }),
  messages: Given(OBJECTS, {
    description: 'Required. The conversation, oldest first',
    example: [{ role: 'user', content: 'Hello' }],
  }),
  system: Given(TEXT_OR_OBJECTS, { description: 'The system prompt, or its text blocks' }),
  tools: Given(OBJECTS, { description: 'Tools that the model may call' }),
  tool_choice: Given(OBJECT, { description: 'Of type auto, any, tool or none' }),
  thinking: Given(OBJECT, { description: 'Of type enabled, adaptive or disabled' }),
};

/**
 * The parameters that Plinth reads; a model that speaks the protocol itself gets every other one as well. They are checked by
 * messages.protocol.ts, whose errors name the parameter.
 */
@AsSent()
export class MessagesBody extends Input({
  ...PROMPT,
  max_tokens: Given(INTEGER, { description: 'Required. Maximum tokens of the answer' }),
  stream: Given(FLAG, { description: 'Server-sent events' }),
  temperature: Given(NUMBER, { description: '0 to 1' }),
  top_p: Given(NUMBER, { description: '0 to 1' }),
  stop_sequences: Given(
    { type: 'array', items: TEXT },
    { description: 'Texts that end the answer' },
  ),
  output_config: Given(OBJECT, {
    description: 'format: JSON of a schema; effort: a word that the service of the model knows',
  }),
  metadata: Given(OBJECT, { description: 'Read by relayed models alone' }),
}) {}

@AsSent()
export class TokenCountBody extends Input(PROMPT) {}
