import {
  BasedOnRevision,
  Decimal,
  decimal,
  flag,
  Id,
  Input,
  integer,
  list,
  nullable,
  OneOf,
  oneOf,
  pageFields,
  recordId,
  recordRevision,
  Status,
  Text,
  text,
  time,
  View,
  Whole,
  zeroOrOne,
} from '../platform/http/index.js';
import type { SearchProvider } from './search-provider.entity.js';
import { SEARCH_CODES } from './search.adapters.js';

const STATUS = '0 enabled, 1 disabled';
const MAX_INTEGER = 2_147_483_647;

export class SearchProviderListQuery extends Input({
  ...pageFields('id', 'name', 'code', 'price', 'status', 'sortOrder', 'updateTime'),
}) {}

const name = { max: 100, example: 'Company search' };
const address = {
  max: 500,
  description: 'Default: the address of the vendor; needed for searxng',
  example: 'https://search.example.com',
} as const;

const optionalFields = {
  address: Text({ ...address, optional: true }),
  apiKey: Text({
    optional: true,
    max: 500,
    clearable: true,
    description: 'Stored encrypted and never answered; an empty text removes it',
  }),
  price: Decimal({
    optional: true,
    clearable: true,
    min: 0,
    max: 1_000_000,
    smallest: 0.000001,
    description: 'Price of one search in the currency of the installation',
    example: 0.005,
  }),
  status: Status({ optional: true, description: `${STATUS}; default of a new one: 1` }),
  sortOrder: Whole({
    optional: true,
    min: 0,
    max: MAX_INTEGER,
    description: 'Enabled providers are asked in this order until one answers; default 0',
  }),
};

export class NewSearchProviderDto extends Input({
  name: Text(name),
  code: OneOf(SEARCH_CODES),
  ...optionalFields,
}) {}

export class ChangedSearchProviderDto extends Input({
  id: Id(),
  revision: BasedOnRevision(),
  name: Text({ ...name, optional: true }),
  ...optionalFields,
}) {}

export class TestSearchDto extends Input({
  query: Text({ optional: true, max: 400, description: 'Default: a search for example.com' }),
}) {}

export class SearchProviderView extends View({
  id: recordId(),
  name: text({ example: 'Company search' }),
  code: oneOf(SEARCH_CODES),
  address: text({ example: 'https://search.example.com' }),
  hasKey: flag({ description: 'Whether an API key is stored' }),
  price: nullable(decimal({ example: 0.005, description: 'Of one search; null: unknown' })),
  status: zeroOrOne({ example: 0, description: STATUS }),
  sortOrder: integer({ example: 0 }),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {
  static from(provider: SearchProvider): SearchProviderView {
    return SearchProviderView.of(provider, { hasKey: provider.apiKey !== null });
  }
}

export class SearchResultView extends View({
  title: text({ example: 'Example Domain' }),
  url: text({ example: 'https://example.com/' }),
  snippet: text(),
  date: nullable(text({ description: 'When the page was published, as the service writes it' })),
}) {}

export class SearchTestView extends View({
  results: list(SearchResultView),
  durationMs: integer({ example: 420 }),
}) {}

export class SearchCodeView extends View({
  code: oneOf(SEARCH_CODES),
  label: text({ example: 'Brave Search' }),
  address: nullable(text({ description: 'Of the vendor; null: companies run it themselves' })),
  needsKey: flag(),
}) {}
