import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { msg } from '../../platform/message/index.js';
import { CHAT_LIMITS, ModelResolver, ModelService, UpstreamCalls } from '../../model/index.js';
import type { ModelCallOptions, Moderation } from '../../provider/index.js';
import type { ReportedCall } from '../answer/answer.js';
import { ParameterError } from '../answer/api.errors.js';
import { MODERATION_HINTS, withoutHints } from '../answer/hints.js';
import { modelName, parameters, plainText } from '../answer/parameters.js';

const MAX_INPUTS = 1_000;
const MAX_TEXT_CHARS = 1_000_000;

const moderated = plainText(MAX_TEXT_CHARS);
const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: moderated }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string().min(1) }),
  }),
]);
const moderationRequest = z.strictObject({
  model: modelName.optional(),
  input: z.union([
    moderated,
    z.array(moderated).min(1).max(MAX_INPUTS),
    z.array(part).min(1).max(MAX_INPUTS),
  ]),
});

/** POST /v1/moderations. */
@Injectable()
export class OpenAiModeration {
  constructor(
    private readonly models: ModelResolver,
    private readonly records: ModelService,
    private readonly calls: UpstreamCalls,
  ) {}

  /** The service's moderation result. Fails like a model call, and with ParameterError. */
  async moderate(
    caller: Caller,
    body: unknown,
    { signal, trail, ignored }: ReportedCall & { readonly signal: AbortSignal },
  ): Promise<object> {
    const { input, model: requestedModel } = parameters(
      moderationRequest,
      withoutHints(body, MODERATION_HINTS, ignored),
    );
    const name = requestedModel ?? (await this.usualModel(caller));
    const model = await this.models.resolveMedia(caller, name, ['moderation']);
    ignored.beginModel(model);
    const { adapter, connection, modelName: id } = model;
    const make = (options: ModelCallOptions): Promise<Moderation> => {
      const calling = adapter.moderate?.({ model: id, input }, connection, options);
      if (calling) return calling;
      throw new ParameterError(
        'model',
        msg`Models of the provider ${model.providerCode} cannot moderate. Choose a model of another provider.`,
      );
    };
    const { attempts, ...limits } = CHAT_LIMITS;
    const use = { caller, feature: 'moderation', trail } as const;
    const { answer } = await this.calls.moderate(model, input, make, {
      use,
      limits,
      signal,
      attempts,
    });
    return { id: `modr-${randomUUID()}`, model: name, ...answer };
  }

  private async usualModel(caller: Caller): Promise<string> {
    const [first] = await this.records.callable(caller, ['moderation']);
    if (first) return first.modelName;
    throw new ParameterError('model', msg`The parameter ${'model'} is required.`);
  }
}
