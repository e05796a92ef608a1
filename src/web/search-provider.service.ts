import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { ConflictError, InvalidInputError } from '../platform/error/index.js';
import { defined } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { SEARCH_ADAPTERS, SEARCH_CODES } from './search.adapters.js';
import type { SearchCode } from './search.adapters.js';
import { SearchKeyNeededError } from './search.errors.js';
import { SearchProviderRepository } from './search-provider.repository.js';
import { SearchCodeView, SearchProviderView, SearchResultView, SearchTestView } from './web.dto.js';
import type {
  ChangedSearchProviderDto,
  NewSearchProviderDto,
  SearchProviderListQuery,
  TestSearchDto,
} from './web.dto.js';
import { WebSearch } from './web-search.js';

const MAX_PROVIDERS = 200;
const TEST_QUERY = 'example.com';
const TEST_RESULTS = 5;

/** Records of the services that search the web. */
@Injectable()
export class SearchProviderService {
  constructor(
    private readonly repository: SearchProviderRepository,
    private readonly search: WebSearch,
    private readonly http: OutboundHttp,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async list(
    { tenantId }: Caller,
    query: SearchProviderListQuery,
  ): Promise<Page<SearchProviderView>> {
    const order = { sortOrder: 'ASC', id: 'ASC' } as const;
    const page = await this.repository.providers.page(tenantId, query, {}, order);
    return page.map((provider) => SearchProviderView.from(provider));
  }

  kinds(): SearchCodeView[] {
    return SEARCH_CODES.map((code) => {
      const { label, needsKey, defaultAddress } = SEARCH_ADAPTERS[code];
      return SearchCodeView.of({ code, label, needsKey, address: defaultAddress ?? null });
    });
  }

  async create(caller: Caller, body: NewSearchProviderDto): Promise<SearchProviderView> {
    const { tenantId } = caller;
    const { code, apiKey, ...fields } = body;
    const address = this.addressOf(code, body.address);
    const sealed = this.sealedKey(tenantId, address, apiKey);
    requireKey(code, sealed);
    return this.database.transaction(async () => {
      if ((await this.repository.providers.count(tenantId)) >= MAX_PROVIDERS) {
        throw new ConflictError(
          msg`A tenant can have at most ${MAX_PROVIDERS} search providers. Remove one first.`,
        );
      }
      const row = { ...fields, name: body.name.trim(), code, address, apiKey: sealed };
      const { id } = await this.repository.providers.insert(tenantId, row);
      const detail = { code };
      await this.audit.record(caller, { action: 'create', target: 'search_provider', id, detail });
      return SearchProviderView.from(await this.repository.providers.get(tenantId, id));
    });
  }

  async update(caller: Caller, body: ChangedSearchProviderDto): Promise<SearchProviderView> {
    const { tenantId } = caller;
    const { id, revision, apiKey, address: _, ...fields } = body;
    const { providers } = this.repository;
    return this.database.transaction(async () => {
      const current = async (): Promise<SearchProviderView> =>
        SearchProviderView.from(await providers.get(tenantId, id));
      await providers.requireRevision(tenantId, id, { expected: revision, current });
      const before = await providers.get(tenantId, id);
      const address =
        body.address === undefined ? before.address : this.addressOf(before.code, body.address);
      const isMoved = address !== before.address;
      if (isMoved && before.apiKey !== null && apiKey === undefined)
        throw new SearchKeyNeededError();
      const key = apiKey === undefined ? before.apiKey : this.sealedKey(tenantId, address, apiKey);
      requireKey(before.code, key);
      const change = defined({ ...fields, name: fields.name?.trim() });
      await providers.update(tenantId, id, { ...change, address, apiKey: key });
      const after = await providers.get(tenantId, id);
      await this.audit.record(caller, {
        ...{ action: 'update', target: 'search_provider', id },
        detail: {
          fields: AUDITED.filter((field) => before[field] !== after[field]),
          ...(before.status !== after.status && { status: after.status }),
        },
      });
      return SearchProviderView.from(after);
    });
  }

  async test(
    caller: Caller,
    id: number,
    { query }: TestSearchDto,
    signal: AbortSignal,
  ): Promise<SearchTestView> {
    const provider = await this.repository.providers.get(caller.tenantId, id);
    const started = performance.now();
    const results = await this.search.ask(provider, {
      ...{ caller, feature: 'test', query: query?.trim() || TEST_QUERY, count: TEST_RESULTS },
      signal,
    });
    return SearchTestView.of({
      results: results.map((result) => SearchResultView.of(result)),
      durationMs: Math.round(performance.now() - started),
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      await this.repository.providers.remove(caller.tenantId, ids);
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'search_provider', id });
      }
    });
  }

  private addressOf(code: SearchCode, requested: string | undefined): string {
    const address = (requested?.trim() || SEARCH_ADAPTERS[code].defaultAddress)?.replace(
      /\/+$/,
      '',
    );
    if (address === undefined) {
      throw new InvalidInputError(
        msg`Enter the address of your SearXNG, such as https://search.example.com.`,
      );
    }
    this.http.assertAddressAllowed(address);
    return address;
  }

  private sealedKey(
    tenantId: string,
    address: string,
    apiKey: string | null | undefined,
  ): string | null {
    const key = apiKey?.trim();
    return key ? this.repository.keys.seal(tenantId, address, key) : null;
  }
}

const AUDITED = ['name', 'address', 'apiKey', 'price', 'status', 'sortOrder'] as const;

function requireKey(code: SearchCode, sealed: string | null): void {
  const { needsKey, label } = SEARCH_ADAPTERS[code];
  if (needsKey && sealed === null) {
    throw new InvalidInputError(msg`${label} needs an API key. Enter apiKey.`);
  }
}
