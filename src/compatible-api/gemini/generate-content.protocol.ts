import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Failure } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { referenceOf } from '../../agent/index.js';
import type { Source, TurnPart } from '../../agent/index.js';
import { generationIn, readToolCall } from '../../provider/index.js';
import type {
  ChatMessage,
  ContentPart,
  FinishReason,
  RequestedGeneration,
  ToolCall,
} from '../../provider/index.js';
import { citationsOf, CollectedAnswer, urlOf } from '../answer/collected-answer.js';
import type { SeenPart } from '../answer/collected-answer.js';
import { ParameterError, UnsupportedParameterError } from '../answer/api.errors.js';
import type {
  AnswerContext,
  AnswerWriter,
  ApiRequest,
  FilePart,
  ParameterNames,
  TranslatedCall,
  TranslatedMessage,
} from '../answer/api.request.js';
import { effortOf, MAX_MESSAGES, MAX_TOOLS, parameters } from '../answer/parameters.js';
import { encodeState, firstState } from '../answer/encoded-state.js';
import { filePartOf, MAX_FILE_NAME_CHARS } from '../answer/request-files.js';
import { CONTENT_HINTS, GENERATION_HINTS, withoutHints } from '../answer/hints.js';
import type { IgnoredParameters } from '../answer/answer.js';
import { offeredTools } from '../answer/tool-choice.js';
import type { OfferedTools, ToolChoice } from '../answer/tool-choice.js';
import { geminiFailure } from './gemini.errors.js';
import { answerForm, camelKeys, jsonSchemaOf, takenOut } from './schema.js';
import type { AnswerForm } from './schema.js';

// The Gemini protocol as Google's service speaks it (ai.google.dev/api/generate-content and @google/genai, November 2026):
// requests in, answers out. Does no I/O.

const CONFIG = 'generationConfig';

/** A request of generateContent or streamGenerateContent. */
export class GenerateContentRequest implements ApiRequest {
  readonly relay = undefined;
  readonly body: ApiRequest['body'];
  readonly names: ParameterNames = {
    message: () => 'contents',
    messages: 'contents',
    format: `${CONFIG}.responseSchema`,
    formatParts: {
      type: `${CONFIG}.responseMimeType`,
      name: `${CONFIG}.responseSchema.title`,
      schema: `${CONFIG}.responseSchema`,
    },
    parallelToolCalls: 'toolConfig',
    imageDetail: `${CONFIG}.mediaResolution`,
    strictTool: () => 'tools',
    effort: `${CONFIG}.thinkingConfig.thinkingLevel`,
  };
  private readonly base: object;
  private readonly frames: Frames;

  constructor(
    readonly model: string,
    body: unknown,
    /** `events` and `array`: pieces as they are written. Otherwise the whole response. */
    private readonly form: 'events' | 'array' | 'whole',
  ) {
    // Values that are not objects are refused by the parser.
    this.body = camelKeys(body) as ApiRequest['body'];
    this.base = { modelVersion: model, responseId: randomUUID().replaceAll('-', '') };
    this.frames = form === 'array' ? new ArrayFrames() : new EventFrames();
  }

  get stream(): boolean {
    return this.form !== 'whole';
  }

  get type(): string | undefined {
    return this.frames.type;
  }

  /** Clients of the protocol accept no comments between events, so a silent stream sends an empty text. */
  get ping(): string {
    return this.frames.blank(piece(this.base, [{ text: '' }]));
  }

  translate(ignored: IgnoredParameters): TranslatedCall {
    return translate(this.body, ignored);
  }

  writer(isAgent: boolean): AnswerWriter {
    const config = configOf(this.body);
    const { includeThoughts } = configOf({ [CONFIG]: config['thinkingConfig'] });
    return new ResponseWriter(new CollectedAnswer(isAgent), {
      base: this.base,
      withThoughts: includeThoughts === true,
      inside: formOf(config)?.inside,
      frames: this.frames,
    });
  }

  failureEvent(failure: Failure): string {
    return this.frames.failure(geminiFailure(failure).body);
  }
}

/** Framing of the pieces of a stream. Serialized JSON contains no line feed. */
interface Frames {
  /** Content type; undefined selects text/event-stream. */
  readonly type: string | undefined;
  piece(data: object): string;
  last(data: object): string;
  /** Keep-alive data; `empty` is a piece without text. */
  blank(empty: object): string;
  failure(body: object): string;
}

class EventFrames implements Frames {
  readonly type = undefined;

  piece(data: object): string {
    return `data: ${JSON.stringify(data)}\n\n`;
  }

  last(data: object): string {
    return this.piece(data);
  }

  blank(empty: object): string {
    return this.piece(empty);
  }

  /** The bare error without `data:`, by which Google's clients tell it from a piece of the answer. */
  failure(body: object): string {
    return `${JSON.stringify(body)}\n\n`;
  }
}

/** One JSON array, as Google writes it without alt=sse. Separators precede a piece, so that each piece is sent at once. */
class ArrayFrames implements Frames {
  readonly type = 'application/json; charset=utf-8';
  private separator = '[';

  piece(data: object): string {
    const { separator } = this;
    this.separator = ',\r\n';
    return `${separator}${JSON.stringify(data)}\n`;
  }

  last(data: object): string {
    return `${this.piece(data)}]\n`;
  }

  blank(): string {
    return '\n';
  }

  failure(body: object): string {
    return this.last(body);
  }
}

/** Schema of a protocol object with these fields. */
export const fields = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess(camelKeys, z.strictObject(shape));

const blob = fields({
  mimeType: z.string().max(200),
  data: z.string(),
  displayName: z.string().max(MAX_FILE_NAME_CHARS).optional(),
});

const name = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'it must be 1 to 128 letters, digits, _ . : or -');
const values = z.record(z.string(), z.unknown());

const part = fields({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  inlineData: blob.optional(),
  fileData: fields({
    fileUri: z.string(),
    mimeType: z.string().max(200).optional(),
    displayName: z.string().optional(),
  }).optional(),
  functionCall: fields({ id: z.string().optional(), name, args: values.optional() }).optional(),
  functionResponse: fields({
    id: z.string().optional(),
    name,
    response: values.optional(),
    parts: z
      .array(fields({ inlineData: blob }))
      .max(MAX_MESSAGES)
      .optional(),
    // Fields of calls with several responses, which other protocols do not have.
    willContinue: z.literal(false).optional(),
    scheduling: z.string().optional(),
  }).optional(),
  // Hints about resolution, or metadata of the part.
  mediaResolution: z.unknown().optional(),
  partMetadata: z.unknown().optional(),
});

type Part = z.output<typeof part>;

const parts = z.array(part).max(MAX_MESSAGES).optional();

const content = fields({ role: z.enum(['user', 'model', 'function']).optional(), parts });

const declaration = fields({
  name,
  description: z.string().optional(),
  parameters: z.unknown().optional(),
  parametersJsonSchema: values.optional(),
  // The response schema and behaviour of a function. Calls always block.
  response: z.unknown().optional(),
  responseJsonSchema: z.unknown().optional(),
  behavior: z.string().optional(),
});

const count = z.number().int();
const penalty = z.number().min(-2).max(2).optional();

/** Every parameter that can be translated. */
const request = z.strictObject({
  contents: z.array(content).min(1).max(MAX_MESSAGES),
  systemInstruction: z
    .union([z.string(), fields({ role: z.string().optional(), parts })])
    .optional(),
  tools: z
    .array(fields({ functionDeclarations: z.array(declaration).max(MAX_TOOLS).optional() }))
    .max(MAX_TOOLS)
    .optional(),
  toolConfig: fields({
    functionCallingConfig: fields({
      mode: z.enum(['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']).optional(),
      allowedFunctionNames: z.array(name).max(MAX_TOOLS).optional(),
      streamFunctionCallArguments: z.boolean().optional(),
    }).optional(),
    includeServerSideToolInvocations: z.literal(false).optional(),
    retrievalConfig: z.unknown().optional(),
  }).optional(),
  generationConfig: fields({
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().min(0).max(1).optional(),
    topK: count.optional(),
    maxOutputTokens: count.min(1).max(1_000_000).optional(),
    stopSequences: z.array(z.string().max(1_000)).max(16).optional(),
    seed: count.optional(),
    presencePenalty: penalty,
    frequencyPenalty: penalty,
    candidateCount: z.number().optional(),
    responseMimeType: z.enum(['text/plain', 'application/json', 'text/x.enum']).optional(),
    responseSchema: values.optional(),
    responseJsonSchema: values.optional(),
    responseModalities: z.array(z.string()).max(10).optional(),
    thinkingConfig: fields({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: count.min(-1).optional(),
      thinkingLevel: z
        .enum(['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH'])
        .or(z.enum(['minimal', 'low', 'medium', 'high']))
        .optional(),
    }).optional(),
  }).optional(),
});

type Request = z.output<typeof request>;
type Config = NonNullable<Request['generationConfig']>;

/** The generation config of a body as sent. */
function configOf(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const config = camelKeys(body[CONFIG]);
  const isObject = typeof config === 'object' && config !== null && !Array.isArray(config);
  return isObject ? (config as Readonly<Record<string, unknown>>) : {};
}

/** Translates the body. Throws ParameterError, and UnsupportedParameterError for parameters that cannot be translated. */
function translate(body: ApiRequest['body'], ignored: IgnoredParameters): TranslatedCall {
  const checkedBody = withoutHints(body, CONTENT_HINTS, ignored) as Record<string, unknown>;
  if (CONFIG in checkedBody) {
    const config = camelKeys(checkedBody[CONFIG]);
    checkedBody[CONFIG] = withoutHints(config, GENERATION_HINTS, ignored, `${CONFIG}.`);
  }
  const {
    contents,
    systemInstruction,
    generationConfig = {},
    ...offered
  } = parameters(request, checkedBody);
  refuseOthers(generationConfig);
  const system = systemOf(systemInstruction);
  const form = formOf(generationConfig);
  return {
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
      ...messagesOf(contents),
    ],
    ...toolsOf(offered),
    ...generationIn({
      temperature: generationConfig.temperature,
      topP: generationConfig.topP,
      topK: generationConfig.topK,
      maxTokens: generationConfig.maxOutputTokens,
      stop: generationConfig.stopSequences?.length ? generationConfig.stopSequences : undefined,
      seed: generationConfig.seed,
      // Zero equals the default.
      presencePenalty: generationConfig.presencePenalty || undefined,
      frequencyPenalty: generationConfig.frequencyPenalty || undefined,
    } satisfies RequestedGeneration),
    ...thinkingOf(generationConfig, ignored),
    format: form && { type: 'json_schema', schema: form.schema },
  };
}

/** Throws UnsupportedParameterError for several answers, and for answers that are no text. */
function refuseOthers({ candidateCount = 1, responseModalities = [] }: Config): void {
  if (candidateCount !== 1) throw new UnsupportedParameterError(`${CONFIG}.candidateCount`);
  if (responseModalities.some((one) => one.toUpperCase() !== 'TEXT')) {
    throw new UnsupportedParameterError(`${CONFIG}.responseModalities`);
  }
}

/** The requested JSON format, from either kind of schema. */
function formOf(config: Readonly<Record<string, unknown>>): AnswerForm | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const schema = responseJsonSchema ?? (responseSchema && jsonSchemaOf(responseSchema));
  if (type === 'text/plain' || (type === undefined && schema === undefined)) return undefined;
  const isText = type === 'text/x.enum';
  if (isText && schema === undefined) {
    throw new ParameterError(
      `${CONFIG}.responseSchema`,
      msg`The parameter ${`${CONFIG}.responseSchema`} is required.`,
    );
  }
  return answerForm((schema ?? { type: 'object' }) as AnswerForm['schema'], isText);
}

function thinkingOf(
  { thinkingConfig = {} }: Config,
  ignored: IgnoredParameters,
): ReturnType<typeof effortOf> {
  const { thinkingBudget: budget, thinkingLevel: level = '' } = thinkingConfig;
  if (budget === 0) return { thinking: false };
  // Other protocols have an effort level instead of a budget. −1 leaves the budget to the model.
  if (budget !== undefined && budget > 0) ignored.add(`${CONFIG}.thinkingConfig.thinkingBudget`);
  return level.endsWith('UNSPECIFIED') ? {} : effortOf(level.toLowerCase());
}

function systemOf(instruction: Request['systemInstruction']): string {
  if (instruction === undefined || typeof instruction === 'string') return instruction ?? '';
  return (instruction.parts ?? [])
    .map(({ text, ...others }, at) => {
      const [other] = Object.keys(others).filter((key) => key !== 'thought');
      if (other !== undefined)
        throw new UnsupportedParameterError(`systemInstruction.parts[${at}].${other}`);
      return text ?? '';
    })
    .join('\n\n');
}

function toolsOf({ tools = [], toolConfig }: Pick<Request, 'tools' | 'toolConfig'>): OfferedTools {
  const declared = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
  const { mode = 'AUTO', allowedFunctionNames: allowed = [] } =
    toolConfig?.functionCallingConfig ?? {};
  return offeredTools(
    declared.map(
      ({ name: called, description = '', parameters: own, parametersJsonSchema: json }) => ({
        name: called,
        description,
        inputSchema:
          json ?? (own === undefined ? { type: 'object', properties: {} } : jsonSchemaOf(own)),
      }),
    ),
    choiceOf(mode, allowed),
  );
}

function choiceOf(mode: string, allowed: readonly string[]): ToolChoice | undefined {
  if (mode === 'NONE') return 'none';
  const isRequired = mode === 'ANY';
  if (allowed.length === 0) return isRequired ? 'required' : undefined;
  const place = 'toolConfig.functionCallingConfig.allowedFunctionNames';
  const names = allowed.map((one, at) => [`${place}[${at}]`, one] as const);
  return { mode: isRequired ? 'required' : 'auto', names };
}

/** A tool call without a result so far. */
type OpenCall = Pick<ToolCall, 'id' | 'name'>;

function messagesOf(contents: Request['contents']): TranslatedMessage[] {
  if (contents.at(-1)?.role === 'model') {
    // Another protocol begins a new answer instead of continuing this one.
    throw new ParameterError('contents', msg`The last message must be one of the user.`);
  }
  const open: OpenCall[] = [];
  return contents.flatMap(({ role, parts: given = [] }, at) => {
    const place = `contents[${at}].parts`;
    return role === 'model' ? modelMessages(given, open, place) : userMessages(given, open, place);
  });
}

function modelMessages(
  contentParts: readonly Part[],
  open: OpenCall[],
  place: string,
): ChatMessage[] {
  let text = '';
  const toolCalls: ToolCall[] = [];
  for (const [at, one] of contentParts.entries()) {
    const { text: partText = '', thought, functionCall: call } = one;
    const other = (['inlineData', 'fileData', 'functionResponse'] as const).find((key) => one[key]);
    if (other) throw new UnsupportedParameterError(`${place}[${at}].${other}`);
    // Thinking is returned to a model only as the state in a signature.
    if (thought !== true) text += partText;
    if (!call) continue;
    const id = call.id ?? `${place}[${at}]`.replaceAll(/\W+/g, '_');
    open.push({ id, name: call.name });
    toolCalls.push(
      readToolCall({ id, name: call.name, arguments: JSON.stringify(call.args ?? {}) }),
    );
  }
  if (text === '' && toolCalls.length === 0) return [];
  const providerState = firstState(
    contentParts.map(({ thoughtSignature }) => signedState(thoughtSignature)),
  );
  return [
    {
      role: 'assistant',
      content: text,
      ...(toolCalls.length > 0 && { toolCalls }),
      ...(providerState && { providerState }),
    },
  ];
}

/** Tool results become separate messages that hold only text; their images and files follow in the user message. */
function userMessages(
  contentParts: readonly Part[],
  open: OpenCall[],
  place: string,
): TranslatedMessage[] {
  const results: ChatMessage[] = [];
  const userContent: (ContentPart | FilePart)[] = [];
  for (const [at, one] of contentParts.entries()) {
    const { text, inlineData, fileData, functionCall, functionResponse: result } = one;
    const param = `${place}[${at}]`;
    if (functionCall) throw new UnsupportedParameterError(`${param}.functionCall`);
    if (text !== undefined && text !== '') userContent.push({ type: 'text', text });
    if (inlineData) userContent.push(filePart(inlineData, `${param}.inlineData`));
    if (fileData) userContent.push(linkedImage(fileData, `${param}.fileData`));
    if (!result) continue;
    const { id: toolCallId, name: called } = takeCall(result, open, `${param}.functionResponse`);
    results.push({ role: 'tool', toolCallId, name: called, content: resultText(result.response) });
    for (const [index, { inlineData: more }] of (result.parts ?? []).entries()) {
      userContent.push(filePart(more, `${param}.functionResponse.parts[${index}].inlineData`));
    }
  }
  return [
    ...results,
    ...(userContent.length > 0 ? [{ role: 'user', content: userContent } as const] : []),
  ];
}

/** Removes the matching open call: by id, otherwise the oldest one of the function. */
function takeCall(
  { id, name: called }: { readonly id?: string | undefined; readonly name: string },
  open: OpenCall[],
  param: string,
): OpenCall {
  const byId = id === undefined ? -1 : open.findIndex((one) => one.id === id);
  const at = byId >= 0 ? byId : open.findIndex((one) => one.name === called);
  const [taken] = at >= 0 ? open.splice(at, 1) : [];
  if (taken) return taken;
  throw new ParameterError(
    `${param}.name`,
    msg`No message before has an open call of the function ${called}. Send the message that called it as well.`,
  );
}

/** `output` and `result` are what clients call the whole of an answer. */
function resultText(response: Readonly<Record<string, unknown>> = {}): string {
  const [[key, value] = [], ...others] = Object.entries(response);
  const isWhole = others.length === 0 && (key === 'output' || key === 'result');
  return isWhole && typeof value === 'string' ? value : JSON.stringify(response);
}

function filePart(
  { mimeType, data, displayName }: z.output<typeof blob>,
  param: string,
): ContentPart | FilePart {
  if (/^(audio|video)\//i.test(mimeType)) throw new UnsupportedParameterError(`${param}.mimeType`);
  if (!/^image\//i.test(mimeType)) return filePartOf(data, displayName, `${param}.data`, mimeType);
  // Clients may send base64url, which other services do not read.
  const base64 = data.replaceAll('-', '+').replaceAll('_', '/');
  return { type: 'image', mimeType, data: base64 };
}

/** Uploaded files exist only at Google's service. */
function linkedImage(
  { fileUri: url, mimeType = 'image/*' }: NonNullable<Part['fileData']>,
  param: string,
): ContentPart {
  const isImage = /^image\//i.test(mimeType) && /^https?:\/\//i.test(url);
  if (!isImage) throw new UnsupportedParameterError(param);
  return { type: 'image-url', url };
}

/** Signatures are bytes, written as base64. */
function signedState(signature: string | undefined): string | undefined {
  return signature && Buffer.from(signature, 'base64').toString();
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  error: 'STOP',
  other: 'STOP',
};

type WrittenPart =
  | { text: string; readonly thought?: true }
  | { readonly functionCall: object; readonly thoughtSignature?: string };

interface Written {
  readonly base: object;
  readonly withThoughts: boolean;
  readonly inside: AnswerForm['inside'];
  readonly frames: Frames;
}

/** Writes one answer in the protocol, as events or as one body. */
class ResponseWriter implements AnswerWriter {
  private readonly content: WrittenPart[] = [];

  constructor(
    private readonly answer: CollectedAnswer,
    private readonly form: Written,
  ) {}

  add(turnParts: readonly TurnPart[]): string {
    const added: WrittenPart[] = [];
    for (const one of turnParts) {
      const visiblePart = this.answer.add(one);
      const written = visiblePart && this.written(visiblePart);
      if (!written) continue;
      append(added, written);
      append(this.content, written);
    }
    return added.length === 0 ? '' : this.form.frames.piece(piece(this.form.base, added));
  }

  end(context: AnswerContext): string {
    const calls = this.calls();
    return this.form.frames.last(this.last(calls.length > 0 ? calls : [{ text: '' }], context));
  }

  whole(context: AnswerContext): object {
    const calls = this.calls();
    const all = [...this.content, ...calls];
    return this.last(all.length > 0 ? all : [{ text: '' }], context);
  }

  /** Calls are written at the end, after their state. */
  private written(visiblePart: SeenPart): WrittenPart | undefined {
    switch (visiblePart.type) {
      case 'text-delta':
        return { text: takenOut(visiblePart.text, this.form.inside) };
      case 'reasoning-delta':
        return this.form.withThoughts ? { text: visiblePart.text, thought: true } : undefined;
      case 'tool-call':
        return undefined;
    }
  }

  /** The provider state becomes the signature of the first call. */
  private calls(): WrittenPart[] {
    this.answer.checkWhole();
    const { calls, providerState } = this.answer;
    const state = providerState && Buffer.from(encodeState(providerState)).toString('base64');
    return calls
      .filter(({ invalid }) => !invalid)
      .map(({ id, name: called, input: args }, at) => ({
        functionCall: { id, name: called, args },
        ...(at === 0 && state !== undefined && { thoughtSignature: state }),
      }));
  }

  private last(written: readonly WrittenPart[], context: AnswerContext): object {
    const { finish, calls } = this.answer;
    const { sources } = context;
    const broken = calls.find(({ invalid }) => invalid);
    return {
      ...piece(this.form.base, written, {
        // The protocol has no place for arguments that are not an object.
        ...(broken
          ? {
              finishReason: 'MALFORMED_FUNCTION_CALL',
              finishMessage: `Malformed function call: ${broken.name}(${broken.arguments})`,
            }
          : { finishReason: FINISH_REASONS[finish] }),
        ...(sources && { groundingMetadata: this.grounding(sources) }),
      }),
      usageMetadata: this.usage(context),
      ...(sources && { sources: sources.map(referenceOf) }),
    };
  }

  /** The sources and the byte ranges of the text that cite them. */
  private grounding(sources: readonly Source[]): object {
    const { text } = this.answer;
    const bytes = (end: number): number => Buffer.byteLength(text.slice(0, end));
    return {
      groundingChunks: sources.map((source) => ({
        retrievedContext: { uri: urlOf(source), title: source.document },
      })),
      groundingSupports: citationsOf(text, sources).map(({ start_index, end_index, source }) => ({
        segment: {
          startIndex: bytes(start_index),
          endIndex: bytes(end_index),
          text: text.slice(start_index, end_index),
        },
        groundingChunkIndices: [sources.findIndex(({ number }) => number === source)],
      })),
    };
  }

  /** Usage in this protocol: thoughts are not part of the answer, and cached tokens are part of the prompt. */
  private usage(context: AnswerContext): object {
    const used = this.answer.usageOf(context);
    const { cachedInputTokens: cached, reasoningTokens: thoughts } = used;
    const thought = Math.min(thoughts ?? 0, used.outputTokens);
    return {
      promptTokenCount: used.inputTokens,
      candidatesTokenCount: used.outputTokens - thought,
      totalTokenCount: used.totalTokens,
      ...(thoughts !== undefined && { thoughtsTokenCount: thought }),
      ...(cached !== undefined && { cachedContentTokenCount: cached }),
    };
  }
}

/** Appends to the last text part of the same kind. */
function append(list: WrittenPart[], written: WrittenPart): void {
  const last = list.at(-1);
  const isSame = last && 'text' in last && 'text' in written && last.thought === written.thought;
  if (isSame) last.text += written.text;
  // Copied, because it grows later.
  else list.push({ ...written });
}

function piece(base: object, written: readonly WrittenPart[], more: object = {}): object {
  const candidate = { content: { parts: written, role: 'model' }, index: 0, ...more };
  return { candidates: [candidate], ...base };
}
