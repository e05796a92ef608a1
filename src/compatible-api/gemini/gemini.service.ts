import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { whileConnected } from '../../platform/http/index.js';
import { TurnPlanner } from '../../chat/index.js';
import { ModelResolver } from '../../model/index.js';
import { agentIdIn, modelName, parameters } from '../answer/parameters.js';
import { estimateCallTokens } from '../answer/token-counts.js';
import { ApiAnswers } from '../answer/api-answers.js';
import { UnsupportedParameterError } from '../answer/api.errors.js';
import { reportingCall } from '../answer/answer.js';
import type { IgnoredParameters } from '../answer/answer.js';
import type { ListedModel } from '../openai/openai.models.js';
import { OpenAiModels } from '../openai/openai.models.js';
import { EmbedContent } from './embed-content.js';
import { USUAL_PAGE } from './gemini.dto.js';
import type { GeminiModelsQuery } from './gemini.dto.js';
import { UnknownMethodError } from './gemini.errors.js';
import type { GeminiModelsView, GeminiModelView, GeminiTokensView } from './gemini.view.js';
import { GenerateContentRequest } from './generate-content.protocol.js';
import { camelKeys } from './schema.js';

/** Model categories that the interface exposes. */
const CATEGORIES = ['chat', 'vector'];

const ANY_BODY = z.looseObject({});

/** Path segment `<model>:<method>`. A model name may contain colons. */
const CALL = /^(?:models\/)?(.*):(\w+)$/s;
const PREFIX = 'models/';

const METHODS: ReadonlySet<string> = new Set([
  ...['generateContent', 'streamGenerateContent', 'countTokens'],
  ...['embedContent', 'batchEmbedContents'],
]);

interface GeminiCall {
  /** The decoded path segment. */
  readonly call: string;
  readonly body: unknown;
}

/** Models and method calls of the Gemini interface. */
@Injectable()
export class Gemini {
  constructor(
    private readonly answers: ApiAnswers,
    private readonly listed: OpenAiModels,
    private readonly models: ModelResolver,
    private readonly planner: TurnPlanner,
    private readonly embeddings: EmbedContent,
  ) {}

  /** Answers a method call. Throws UnknownMethodError, ParameterError, and the errors of ApiAnswers. */
  async run(caller: Caller, { call, body }: GeminiCall, response: Response): Promise<void> {
    const [, name = '', method = call] = CALL.exec(call) ?? [];
    if (!METHODS.has(method)) throw new UnknownMethodError(method);
    const model = parameters(modelName, name);
    const checkedBody = parameters(ANY_BODY, body);
    const { alt } = response.req.query;
    if (alt !== undefined && alt !== 'json' && alt !== 'sse')
      throw new UnsupportedParameterError('alt');
    if (!method.endsWith('enerateContent')) {
      const answer = await reportingCall(caller, response, (named): Promise<object> => {
        const context = { ...named, signal: whileConnected(response) };
        if (method === 'embedContent')
          return this.embeddings.one(caller, model, checkedBody, context);
        return method === 'countTokens'
          ? this.countTokens(caller, model, { body: checkedBody, ignored: named.ignored })
          : this.embeddings.several(caller, model, checkedBody, context);
      });
      response.status(200).json(answer);
      return;
    }
    const pieces = alt === 'sse' ? 'events' : 'array';
    const form = method === 'generateContent' ? 'whole' : pieces;
    await this.answers.answer(
      caller,
      new GenerateContentRequest(model, checkedBody, form),
      response,
    );
  }

  /** Counts by the model's tokenizer or estimates. The count for an agent includes its prompt, but neither fragments nor tools. */
  private async countTokens(
    caller: Caller,
    model: string,
    { body, ignored }: { readonly body: unknown; readonly ignored: IgnoredParameters },
  ): Promise<GeminiTokensView> {
    const { generateContentRequest, ...plain } = camelKeys(body ?? {}) as Record<string, unknown>;
    const generateBody = body === undefined ? body : (generateContentRequest ?? plain);
    const request = new GenerateContentRequest(model, generateBody, 'whole').translate(ignored);
    const agentId = agentIdIn(model);
    if (agentId === undefined) {
      const { modelName: resolvedName } = await this.models.resolveChat(caller, model);
      return { totalTokens: await estimateCallTokens(request, resolvedName) };
    }
    const { model: agentModel, systemPrompt } = await this.planner.plan(caller, { agentId });
    const prompt = systemPrompt ? [{ role: 'system', content: systemPrompt } as const] : [];
    const messages = [...prompt, ...request.messages];
    return { totalTokens: await estimateCallTokens({ messages }, agentModel.modelName) };
  }

  /** A page of the models that generate or embed content. Throws ParameterError for an unknown page token. */
  async list(
    caller: Caller,
    { pageSize = USUAL_PAGE, pageToken }: GeminiModelsQuery,
  ): Promise<GeminiModelsView> {
    const query = { limit: pageSize, ...(pageToken && { after_id: pageToken }) };
    const { rows, hasMore } = await this.listed.page(caller, query, CATEGORIES);
    const last = rows.at(-1);
    return { models: rows.map(geminiModel), ...(hasMore && last && { nextPageToken: last.id }) };
  }

  /** Throws UnknownModelError. */
  async get(caller: Caller, id: string): Promise<GeminiModelView> {
    const name = id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id;
    return geminiModel(await this.listed.find(caller, name, CATEGORIES));
  }
}

function geminiModel(model: ListedModel): GeminiModelView {
  const { id, name, category, contextWindow: input, maxOutput: output } = model;
  return {
    name: PREFIX + id,
    baseModelId: id,
    version: '001',
    displayName: name,
    ...(input !== null && { inputTokenLimit: input }),
    ...(output !== null && { outputTokenLimit: output }),
    supportedGenerationMethods:
      category === 'chat'
        ? ['generateContent', 'countTokens']
        : ['embedContent', 'batchEmbedContents'],
  };
}
