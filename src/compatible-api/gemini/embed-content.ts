import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import type { IgnoredParameters } from '../answer/answer.js';
import { parameters } from '../answer/parameters.js';
import { OpenAiEmbeddings } from '../openai/openai.embeddings.js';
import type { EmbeddingContext } from '../openai/openai.embeddings.js';
import { fields } from './generate-content.protocol.js';
import type { GeminiEmbeddingsView, GeminiEmbeddingView } from './gemini.view.js';

// Embeddings as Google's service makes them (ai.google.dev/api/embeddings and @google/genai, November 2026).

const MAX_PARTS = 1_000;
const MAX_REQUESTS = 2_048;
const MAX_TEXT_CHARS = 1_000_000;

const DIMENSIONS = 'outputDimensionality';

const settings = {
  taskType: z.string().optional(),
  title: z.string().optional(),
  [DIMENSIONS]: z.number().int().min(1).max(100_000).optional(),
  autoTruncate: z.boolean().optional(),
};

const request = fields({
  /** Ignored: the model of the URL applies. */
  model: z.string().optional(),
  content: fields({
    parts: z
      .array(fields({ text: z.string().min(1).max(MAX_TEXT_CHARS) }))
      .min(1)
      .max(MAX_PARTS),
    role: z.string().optional(),
  }),
  ...settings,
  embedContentConfig: fields(settings).optional(),
});

const batch = fields({ requests: z.array(request).min(1).max(MAX_REQUESTS) });

type EmbedRequest = z.output<typeof request>;

/** :embedContent and :batchEmbedContents. Fails like OpenAiEmbeddings. */
@Injectable()
export class EmbedContent {
  constructor(private readonly embeddings: OpenAiEmbeddings) {}

  async one(
    caller: Caller,
    model: string,
    body: unknown,
    context: EmbeddingContext,
  ): Promise<GeminiEmbeddingView> {
    const [values = []] = await this.vectors(caller, model, [parameters(request, body)], context);
    return { embedding: { values } };
  }

  async several(
    caller: Caller,
    model: string,
    body: unknown,
    context: EmbeddingContext,
  ): Promise<GeminiEmbeddingsView> {
    const { requests } = parameters(batch, body);
    const vectors = await this.vectors(caller, model, requests, context);
    return { embeddings: vectors.map((values) => ({ values })) };
  }

  private async vectors(
    caller: Caller,
    model: string,
    requests: readonly EmbedRequest[],
    context: EmbeddingContext,
  ): Promise<number[][]> {
    for (const one of requests) noteHints(one, context.ignored);
    const vectors: number[][] = [];
    const groups = Map.groupBy(requests.entries(), ([, one]) => dimensionsOf(one));
    for (const [dimensions, group] of groups) {
      const texts = group.map(([, one]) => textOf(one));
      const embeddingCall = { model, texts, dimensions, param: DIMENSIONS };
      const embedded = await this.embeddings.vectors(caller, embeddingCall, context);
      for (const [index, [at]] of group.entries())
        vectors[at] = [...(embedded.vectors[index] ?? [])];
    }
    return vectors;
  }
}

function dimensionsOf(request: EmbedRequest): number | undefined {
  return request[DIMENSIONS] ?? request.embedContentConfig?.[DIMENSIONS];
}

function textOf({ content }: EmbedRequest): string {
  return content.parts.map(({ text }) => text).join('\n');
}

/** Notes options without an equivalent elsewhere. Some services refuse texts that are too long, others cut them. */
function noteHints(request: EmbedRequest, ignored: IgnoredParameters): void {
  for (const options of [request, request.embedContentConfig ?? {}]) {
    for (const name of ['taskType', 'title', 'autoTruncate'] as const) {
      if (options[name] !== undefined) ignored.add(name);
    }
  }
}
