import { AsSent, Given, Input } from '../../../platform/http/index.js';

const OBJECT = { type: 'object', additionalProperties: true } as const;
const OBJECTS = { type: 'array', items: OBJECT } as const;
const TEXT = { type: 'string' } as const;
const TEXTS = { type: 'array', items: TEXT } as const;
/** Nest drops the type Array next to oneOf, and accepts no schema without a type. */
const EITHER = { type: Array } as const;
const FLAG = { type: 'boolean' } as const;
const NUMBER = { type: 'number' } as const;
const INTEGER = { type: 'integer' } as const;

/** Documented parameters. responses.request.ts validates them and names the parameter in errors. */
@AsSent()
export class ResponseBody extends Input({
  model: Given(TEXT, {
    description: 'Required. The modelName of a chat model, or agent-<id> of an agent',
    example: 'gpt-4o-mini',
  }),
  input: Given(
    { ...EITHER, oneOf: [TEXT, OBJECTS] },
    {
      description:
        'A text of the user, or items: messages, calls of tools, outputs, reasoning and references to stored items',
      example: 'Hello',
    },
  ),
  instructions: Given(TEXT, { description: 'The system message, of this response alone' }),
  previous_response_id: Given(TEXT, { description: 'The stored response that this one continues' }),
  conversation: Given(
    { ...EITHER, oneOf: [TEXT, OBJECT] },
    { description: 'The conversation that this one continues and adds to' },
  ),
  background: Given(FLAG, {
    description:
      'true: it is answered at once as in_progress, and read by its id until it has ended; with stream its events, which can be read again',
  }),
  include: Given(TEXTS, { description: 'reasoning.encrypted_content' }),
  store: Given(FLAG, { description: 'false: it is not stored; default true' }),
  stream: Given(FLAG, { description: 'Server-sent events' }),
  tools: Given(OBJECTS, {
    description:
      'Of type function, custom, namespace, local_shell, shell, apply_patch or tool_search',
  }),
  tool_choice: Given(
    { ...EITHER, oneOf: [TEXT, OBJECT] },
    {
      description:
        'auto, none, required, {type: "function" or "custom", name}, {type} of another tool, or {type: "allowed_tools", mode, tools}',
    },
  ),
  parallel_tool_calls: Given(FLAG, { description: 'false: one call at a time' }),
  text: Given(OBJECT, { description: 'format: of type text, json_object or json_schema' }),
  reasoning: Given(OBJECT, {
    description: 'effort: none, or a word that the service of the model knows',
  }),
  max_output_tokens: Given(INTEGER, { description: 'Maximum tokens of the answer' }),
  temperature: Given(NUMBER, { description: '0 to 2' }),
  top_p: Given(NUMBER, { description: '0 to 1' }),
  metadata: Given(OBJECT, { description: 'Texts that are answered as they were sent' }),
}) {}

export class StoredResponseQuery extends Input({
  stream: Given(TEXT, {
    description:
      'true: the events of a response that was created with background and stream, until it has ended; kept for 24 hours',
  }),
  starting_after: Given(INTEGER, {
    description: 'The sequence_number of the last event that the client has; default none',
  }),
  include: Given(TEXTS, { description: 'reasoning.encrypted_content' }),
}) {}

/** Checked by conversations.service.ts. */
@AsSent()
export class ConversationBody extends Input({
  items: Given(OBJECTS, { description: 'At most 20, of a new conversation' }),
  metadata: Given(OBJECT, { description: 'Texts that are answered as they were sent' }),
}) {}

@AsSent()
export class ConversationItemsBody extends Input({
  items: Given(OBJECTS, { description: 'Required. At most 20' }),
}) {}

export class InputItemsQuery extends Input({
  after: Given(TEXT, { description: 'The id of the last item of the page before' }),
  limit: Given(INTEGER, { description: '1 to 100; default 20' }),
  order: Given(TEXT, { description: 'asc or desc; default desc' }),
}) {}
