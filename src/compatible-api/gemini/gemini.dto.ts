import { AsSent, Given, Input, Text, Whole } from '../../platform/http/index.js';

const OBJECT = { type: 'object', additionalProperties: true } as const;
const OBJECTS = { type: 'array', items: OBJECT } as const;
const TEXT = { type: 'string' } as const;
const INTEGER = { type: 'integer' } as const;

/** Documented parameters. generate-content.protocol.ts validates them and names the parameter in errors. Names in snake_case are accepted. */
@AsSent()
export class GenerateContentBody extends Input({
  contents: Given(OBJECTS, {
    description: 'Required. The conversation, oldest first',
    example: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  }),
  systemInstruction: Given(OBJECT, { description: 'The system prompt, as parts of text' }),
  tools: Given(OBJECTS, { description: 'functionDeclarations that the model may call' }),
  toolConfig: Given(OBJECT, {
    description: 'functionCallingConfig: mode AUTO, ANY, NONE or VALIDATED; allowedFunctionNames',
  }),
  generationConfig: Given(OBJECT, {
    description:
      'temperature, topP, topK, maxOutputTokens, stopSequences, seed, penalties, responseMimeType with responseSchema or responseJsonSchema, thinkingConfig',
  }),
  safetySettings: Given(OBJECTS, { description: 'A hint' }),
  cachedContent: Given(TEXT, { description: 'Refused' }),
  generateContentRequest: Given(OBJECT, {
    description: 'countTokens alone: the request to count, in place of contents',
  }),
  content: Given(OBJECT, { description: 'embedContent alone: what is embedded, as parts of text' }),
  outputDimensionality: Given(INTEGER, { description: 'embedContent alone' }),
  requests: Given(OBJECTS, {
    description: 'batchEmbedContents alone: a content each, with outputDimensionality',
  }),
}) {}

/** Default page size of the model list. */
export const USUAL_PAGE = 50;

export class GeminiModelsQuery extends Input({
  pageSize: Whole({ optional: true, min: 1, max: 1_000, description: `Default ${USUAL_PAGE}` }),
  pageToken: Text({ optional: true, max: 200, description: 'nextPageToken of the page before' }),
}) {}
