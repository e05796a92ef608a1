import { DomainError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

/** A service address that cannot be used as entered. */
export class InvalidAddressError extends DomainError {
  readonly code = 400;
}

/** What services of the chat-completions family have beside each other. */
export const FAMILY_ENDPOINTS: readonly string[] = [
  '/chat/completions',
  '/responses',
  '/embeddings',
  '/reranks',
  '/rerank',
];
/** The same for the local runtime, whose base also serves that family below `/v1`. */
export const LOCAL_ENDPOINTS: readonly string[] = [
  '/api/chat',
  '/api/embed',
  '/api/embeddings',
  ...FAMILY_ENDPOINTS,
];

export interface AddressForm {
  /** The path that the protocol appends, for example `/chat/completions`. */
  readonly endpoint: string;
  /** Endpoints of the same service for other kinds of models: people copy their addresses, too. */
  readonly siblings?: readonly string[];
  /** Endpoints of other protocols: an address that ends in one belongs to another provider code. */
  readonly foreignEndpoints?: readonly string[];
  /** The path that a bare domain gets, for example `/v1`. */
  readonly prefix: string;
  /** Endings that are completed or dropped, for example `/openai` to `/openai/v1`. */
  readonly endings?: Readonly<Record<string, string>>;
}

/**
 * The URL to call for a stored address: trailing slashes and the
 * protocol's own endpoint, or one beside it, are removed, a bare domain gets the usual prefix, any
 * other path is kept; then the endpoint is appended. Throws InvalidAddressError.
 */
export function endpointOf(address: string, form: AddressForm): string {
  const url = parseAddress(address);
  let path = withoutSlashes(url.pathname);
  if (form.foreignEndpoints?.some((endpoint) => path.endsWith(endpoint)) === true) {
    throw new InvalidAddressError(
      msg`The service address does not match the protocol. Choose the provider of the other protocol, or enter the base address.`,
    );
  }
  const given = [form.endpoint, ...(form.siblings ?? [])].find((known) => path.endsWith(known));
  if (given !== undefined) path = withoutSlashes(path.slice(0, -given.length));
  for (const [ending, completed] of Object.entries(form.endings ?? {})) {
    if (path.endsWith(ending)) path = path.slice(0, -ending.length) + completed;
  }
  return `${url.origin}${path === '' ? form.prefix : path}${form.endpoint}`;
}

/** The address as a URL; throws InvalidAddressError if it cannot be a service's base address. */
export function parseAddress(address: string): URL {
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
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) {
    throw new InvalidAddressError(
      msg`The service address must not contain a user name, a query (?) or a fragment (#). Remove that part.`,
    );
  }
  return url;
}

/** The parts of an address that may end with one of the endpoints: the path without it and without slashes. */
export function withoutEndpoint(
  address: string,
  endpoints: readonly string[],
): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = parseAddress(address);
  const path = withoutSlashes(pathname);
  const given = endpoints.find((endpoint) => path.endsWith(endpoint)) ?? '';
  return { origin, path: withoutSlashes(path.slice(0, path.length - given.length)) };
}

/** A path without slashes at its end; the root becomes the empty text. */
function withoutSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}
