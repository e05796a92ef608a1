import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { ModelResolver, RerankClient } from '../../model/index.js';
import type { ReportedCall } from '../answer/answer.js';
import { RERANK_HINTS, withoutHints } from '../answer/hints.js';
import { modelName, parameters, plainText } from '../answer/parameters.js';
import type { RerankView } from './openai.view.js';

const MAX_DOCUMENTS = 1_000;
const MAX_TEXT_CHARS = 1_000_000;

const document = plainText(MAX_TEXT_CHARS);
const rerankRequest = z.strictObject({
  model: modelName,
  query: plainText(MAX_TEXT_CHARS),
  documents: z
    .array(z.union([document, z.strictObject({ text: document })]))
    .min(1)
    .max(MAX_DOCUMENTS),
  top_n: z.number().int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
});

interface RequestContext extends ReportedCall {
  readonly signal: AbortSignal;
}

/** POST /v1/rerank, in the form that the services for reranking have in common (https://docs.cohere.com/reference/rerank). */
@Injectable()
export class OpenAiRerank {
  constructor(
    private readonly models: ModelResolver,
    private readonly client: RerankClient,
  ) {}

  /** The documents that the service ranked, best first. Fails like RerankClient, and with ParameterError. */
  async rerank(
    caller: Caller,
    body: unknown,
    { signal, trail, ignored }: RequestContext,
  ): Promise<RerankView> {
    const request = parameters(rerankRequest, withoutHints(body, RERANK_HINTS, ignored));
    const { model: id, query, top_n, return_documents } = request;
    const texts = request.documents.map((one) => (typeof one === 'string' ? one : one.text));
    const model = await this.models.resolveRerank(caller, id);
    ignored.beginModel(model);
    const ranked = await this.client.rerank(model, query, texts, {
      use: { caller, feature: 'rerank', trail },
      topN: top_n ?? texts.length,
      signal,
    });
    return {
      model: id,
      results: ranked.map(({ index, score }) => ({
        index,
        relevance_score: score,
        ...(return_documents && { document: { text: texts[index] ?? '' } }),
      })),
    };
  }
}
