import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { DomainError } from '../../platform/error/index.js';
import { localized } from '../../platform/http/index.js';
import { literal, msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { OutboundError } from '../../platform/outbound/index.js';
import { ProviderService, UpstreamError } from '../../provider/index.js';
import type { ModelConnection, OfferedModel, ProviderRecord } from '../../provider/index.js';
import { UpstreamCalls } from '../calls/upstream.calls.js';
import { ModelAdapters } from '../model.adapters.js';
import type { ListingAdapter } from '../model.adapters.js';
import { ModelRepository } from '../model.repository.js';
import { catalogueOf } from './model.catalogue.js';
import type { CatalogueEntry, OfferedPrices } from './model.catalogue.js';
import { OfferedModelsView, OfferedModelView } from './offered-models.view.js';

const LIMITS = { connectMs: 5_000, idleMs: 10_000, totalMs: 15_000 } as const;

/** The models that a provider's service offers, for the form of a new model to choose from. */
@Injectable()
export class OfferedModelsService {
  constructor(
    private readonly providers: ProviderService,
    private readonly models: ModelRepository,
    private readonly adapters: ModelAdapters,
    private readonly calls: UpstreamCalls,
  ) {}

  /**
   * Asks the service once. What it does not say of a model is filled in from the published windows and prices. A service that
   * cannot be asked, or has no list, is answered as an empty list with the reason.
   */
  async list(caller: Caller, providerId: number, signal: AbortSignal): Promise<OfferedModelsView> {
    const provider = await this.providers.record(caller.tenantId, providerId);
    const { providerCode } = provider;
    try {
      const adapter = this.adapters.listing(providerCode);
      if (!adapter)
        return nothing(msg`Services of the code ${providerCode} have no list of models.`);
      const connection = await this.connectionTo(caller, provider);
      if (!connection) {
        return nothing(
          msg`No address is known. Enter the address of the provider, or save a model.`,
        );
      }
      const offered = await this.ask(adapter, connection, signal);
      const published = await catalogueOf(connection.address, providerCode);
      return OfferedModelsView.of({
        models: offered.map((model) => toView(model, published(model.id))),
        reason: null,
      });
    } catch (error) {
      if (!(error instanceof DomainError || error instanceof OutboundError)) throw error;
      return nothing(literal(error.message));
    }
  }

  private async ask(
    adapter: ListingAdapter,
    connection: ModelConnection,
    signal: AbortSignal,
  ): Promise<readonly OfferedModel[]> {
    try {
      return await this.calls.listModels(adapter, connection, { limits: LIMITS, signal });
    } catch (error) {
      const isRefused = error instanceof UpstreamError && error.kind === 'authentication';
      if (!isRefused || connection.credential !== undefined) throw error;
      throw new UpstreamError({
        ...error,
        message: msg`The service lists its models only with a key. Save a model of this provider with its key, then choose from the list.`,
      });
    }
  }

  /**
   * The address of the provider, else that of its newest model, else that of the preset; and the key of the newest model that
   * has one for the same scheme, host and port, because a key is sent nowhere else. Undefined without an address.
   */
  private async connectionTo(
    caller: Caller,
    { providerCode, apiHost, protocolVersion }: ProviderRecord,
  ): Promise<ModelConnection | undefined> {
    const models = await this.models.ofProvider(caller, providerCode);
    const address =
      apiHost?.trim() ||
      models.find((model) => model.apiHost)?.apiHost ||
      this.adapters.byCode().get(providerCode)?.defaultAddress;
    if (!address) return undefined;
    const origin = URL.parse(address)?.origin;
    const keyed = models.find(
      (model) => model.credential !== null && this.adapters.destination(model) === origin,
    );
    const credential = keyed && this.models.keyOf(keyed);
    return {
      address,
      ...(credential !== undefined && { credential }),
      ...(protocolVersion && { protocolVersion }),
    };
  }
}

function nothing(reason: Message): OfferedModelsView {
  return OfferedModelsView.of({ models: [], reason: localized(reason) });
}

/** A service that states its prices has none of the published ones. */
function toView(offered: OfferedModel, published: CatalogueEntry): OfferedModelView {
  const { contextWindow, ...publishedPrices } = published;
  const prices: OfferedPrices = offered.inputPrice === undefined ? publishedPrices : {};
  const model = { contextWindow, ...prices, ...offered };
  return OfferedModelView.of({
    id: model.id,
    label: model.label ?? model.id,
    category: model.category ?? null,
    contextWindow: model.contextWindow ?? null,
    maxOutput: model.maxOutput ?? null,
    supportsTools: model.supportsTools ?? null,
    supportsVision: model.supportsVision ?? null,
    inputPrice: model.inputPrice ?? null,
    outputPrice: model.outputPrice ?? null,
    cachedInputPrice: model.cachedInputPrice ?? null,
    cacheWritePrice: model.cacheWritePrice ?? null,
    cacheWriteHourPrice: model.cacheWriteHourPrice ?? null,
    audioInputPrice: model.audioInputPrice ?? null,
    audioOutputPrice: model.audioOutputPrice ?? null,
    webSearchPrice: model.webSearchPrice ?? null,
    codeRunPrice: model.codeRunPrice ?? null,
    contextTiers: model.contextTiers ?? [],
    priceSource: model.priceSource ?? null,
  });
}
