import { LRUCache } from 'lru-cache';
import { DomainError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

/** A service address that cannot be used as entered. */
export class InvalidAddressError extends DomainError {
  readonly code = 400;
}

/** Endpoints that services of the chat-completions family have beside each other. */
export const FAMILY_ENDPOINTS: readonly string[] = [
  '/chat/completions',
  '/responses',
  '/embeddings',
  '/reranks',
  '/rerank',
  '/completions',
  '/models',
];
/** The same for the local runtime, whose base also serves that family below `/v1`. */
export const LOCAL_ENDPOINTS: readonly string[] = [
  '/api/chat',
  '/api/embed',
  '/api/embeddings',
  '/api/tags',
  ...FAMILY_ENDPOINTS,
];

/** Completions of base addresses by their ending, applied in order. */
type Bases = readonly (readonly [ending: RegExp, completed: string])[];

export interface AddressForm {
  /** The path that the protocol appends, for example `/chat/completions`. */
  readonly endpoint: string;
  /** Endpoints of the same service for other kinds of models: people copy their addresses, too. */
  readonly siblings?: readonly string[];
  /** Endpoints of other protocols: an address that ends in one belongs to another provider code. */
  readonly foreignEndpoints?: readonly string[];
  /** The path that a bare domain gets, for example `/v1`. */
  readonly prefix: string;
  /** Bases that vendors document for this protocol or for another one. Not applied to the address of the endpoint itself. */
  readonly bases?: Bases;
  /** Endings that are completed or dropped, for example `/openai` to `/openai/v1`. */
  readonly endings?: Readonly<Record<string, string>>;
}

/** Addresses of the chat-completions family. Vendors document a base below `/anthropic` for the messages protocol. */
export const FAMILY = {
  siblings: FAMILY_ENDPOINTS,
  bases: [
    // DashScope
    [/\/apps\/anthropic(\/v\d+)?$/, '/compatible-mode/v1'],
    [/\/compatible-mode$/, '/compatible-mode/v1'],
    // Zhipu, Z.AI
    [/\/api\/anthropic(\/v\d+)?$/, '/api/paas/v4'],
    [/\/api(\/coding)?\/paas$/, '$&/v4'],
    // Gemini
    [/\/v1beta$/, '/v1beta/openai'],
    // DeepSeek, Moonshot, MiniMax
    [/\/anthropic(\/v\d+)?$/, '/v1'],
    // Volcano Ark, Kimi
    [/\/api\/coding$/, '/api/coding/v3'],
    [/\/coding$/, '/coding/v1'],
  ],
} as const satisfies Partial<AddressForm>;

/** Addresses of the messages protocol, whose clients append `/v1/messages` to the base that vendors document. */
export const MESSAGES_FAMILY = {
  bases: [
    // DashScope
    [/\/compatible-(mode|api)(\/v\d+)?$/, '/apps/anthropic'],
    // Zhipu, Z.AI
    [/\/api(\/coding)?\/paas(\/v\d+)?$/, '/api/anthropic'],
    [/(?<!\/v\d[^/]*)$/, '/v1'],
  ],
} as const satisfies Partial<AddressForm>;

/** A path below which vendors of both protocols serve messages. */
export const MESSAGES_PATH = /\/(anthropic(\/v\d+)?|messages)\/*$/;

/**
 * The URL to call for a stored address: trailing slashes and the
 * protocol's own endpoint, or one beside it, are removed, a bare domain gets the usual prefix, a base that a vendor documents
 * is completed, any other path is kept; then the endpoint is appended, and the query of the address. Throws
 * InvalidAddressError.
 */
export function endpointOf(address: string, form: AddressForm): string {
  const url = parseAddress(address);
  let path = withoutSlashes(url.pathname);
  if (form.foreignEndpoints?.some((endpoint) => path.endsWith(endpoint)) === true) {
    throw new InvalidAddressError(
      msg`The service address does not match the protocol. Choose the provider of the other protocol, or enter the base address.`,
    );
  }
  const matchedEndpoint = [form.endpoint, ...(form.siblings ?? [])].find((one) =>
    path.endsWith(one),
  );
  if (matchedEndpoint !== undefined) path = withoutSlashes(path.slice(0, -matchedEndpoint.length));
  if (matchedEndpoint !== form.endpoint && path !== '') path = completedBase(path, form.bases);
  for (const [ending, completed] of Object.entries(form.endings ?? {})) {
    if (path.endsWith(ending)) path = path.slice(0, -ending.length) + completed;
  }
  return `${url.origin}${path === '' ? form.prefix : path}${form.endpoint}${url.search}`;
}

/** The path of a base that a vendor documents, as the table completes it. */
export function completedBase(path: string, bases: Bases = []): string {
  return bases.reduce((base, [ending, completed]) => base.replace(ending, completed), path);
}

/** Parameters of a query that hold a credential, by their names. */
const SECRET_PARAMETER = /key|token|secret|passw|credential|auth|sig(nature)?$/i;

/** A call asks for the parts of its address up to four times, which was 1 % of a turn's CPU time when each parsed it. */
const parsedAddresses = new LRUCache<string, Readonly<URL>>({ max: 1_000 });

/** The address as a URL; throws InvalidAddressError if it cannot be a service's base address. */
export function parseAddress(address: string): Readonly<URL> {
  const parsed = parsedAddresses.get(address);
  if (parsed) return parsed;
  const url = checkedUrl(address);
  parsedAddresses.set(address, url);
  return url;
}

function checkedUrl(address: string): URL {
  const text = address.trim();
  if (text === '') {
    throw new InvalidAddressError(
      msg`Enter the service address, for example https://api.example.com/v1.`,
    );
  }
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null || url.hostname === '') {
    throw new InvalidAddressError(
      msg`The service address must be a valid http or https address, for example https://api.example.com/v1.`,
    );
  }
  const hasSecret = [...url.searchParams.keys()].some((name) => SECRET_PARAMETER.test(name));
  if (url.username !== '' || url.password !== '' || text.includes('#') || hasSecret) {
    throw new InvalidAddressError(
      msg`The service address must not contain a user name, a key in its query or a fragment (#). Remove that part.`,
    );
  }
  return url;
}

/** The parts of a media model's address that may end with one of the endpoints: the path without it and without slashes. */
export function withoutEndpoint(
  address: string,
  endpoints: readonly string[],
): { readonly origin: string; readonly path: string } {
  const { origin, pathname, search } = parseAddress(address);
  if (search !== '') {
    throw new InvalidAddressError(
      msg`The address of a media model must not contain a query (?). Remove that part.`,
    );
  }
  const path = withoutSlashes(pathname);
  const matchedEndpoint = endpoints.find((endpoint) => path.endsWith(endpoint)) ?? '';
  return { origin, path: withoutSlashes(path.slice(0, path.length - matchedEndpoint.length)) };
}

/** A path without slashes at its end; the root becomes the empty text. */
function withoutSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}

/** Whether an address is the endpoint of the responses protocol. */
export function isResponsesAddress(pathname: string): boolean {
  return /\/responses\/*$/.test(pathname);
}
