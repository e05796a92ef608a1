import { parseAddress } from '../address.js';
import { isRecord } from '../vendor-json.js';
import type { ModelRequest } from '../model-call.js';
import { bearerOf } from '../model-call.js';

/** The kind of answer to a request of a protocol. */
export type RequestForm = 'whole' | 'stream' | 'count';

/**
 * Clouds that serve the messages protocol with the model in the address and a version in the body, as the SDKs of Anthropic call
 * them (packages/vertex-sdk and packages/bedrock-sdk of anthropics/anthropic-sdk-typescript, 2026-08).
 */
interface Cloud {
  /** The paths of the cloud, with the part before the model. */
  readonly path: RegExp;
  readonly version: string;
  /** The path after the endpoint; undefined where the cloud has no such request. */
  place(model: string, form: RequestForm): string | undefined;
  /** Fields of the body beside the version; `model` and `stream` are those of the protocol. */
  fields(model: string, stream: unknown): Record<string, unknown>;
  /** The header `anthropic-beta` is a list in the body. */
  readonly hasBetasInBody?: true;
}

/** Google Vertex AI: `…/publishers/anthropic/models/<model>:rawPredict`. */
const VERTEX: Cloud = {
  path: /^(.*\/publishers\/anthropic\/models)(?:\/[^/]+:(?:stream)?rawPredict)?$/i,
  version: 'vertex-2023-10-16',
  place: (model, form) => {
    if (form === 'count') return '/count-tokens:rawPredict';
    const name = encodeURIComponent(model).replaceAll('%40', '@');
    return `/${name}:${form === 'stream' ? 'streamRawPredict' : 'rawPredict'}`;
  },
  fields: (_, stream) => ({ stream }),
};

/** Amazon Bedrock: `/model/<model>/invoke`. It counts no tokens. */
const BEDROCK: Cloud = {
  path: /^(.*\/model)(?:\/[^/]+\/invoke(?:-with-response-stream)?)?$/,
  version: 'bedrock-2023-05-31',
  place: (model, form) => {
    if (form === 'count') return undefined;
    const ending = form === 'stream' ? 'invoke-with-response-stream' : 'invoke';
    return `/${encodeURIComponent(model)}/${ending}`;
  },
  fields: () => ({}),
  hasBetasInBody: true,
};

/** Paths at which a vendor of both protocols speaks messages. */
export const VERTEX_MESSAGES = /\/publishers\/anthropic(\/models(\/[^/]+:\w*rawPredict)?)?\/*$/i;
export const BEDROCK_MESSAGES = /\/model(\/[^/]+\/invoke[\w-]*)?\/*$/;

/** The endpoint at an address of one of the clouds, which the model follows; undefined for any other. Throws InvalidAddressError. */
export function cloudEndpoint(address: string): string | undefined {
  const { origin, hostname, pathname, search } = parseAddress(address);
  const basePath = pathname.replace(/\/+$/, '').replace(/(\/publishers\/anthropic)$/i, '$1/models');
  const isBedrock = /bedrock/i.test(hostname + basePath) || /\/invoke[\w-]*$/.test(basePath);
  const path = basePath === '' && /(^|\.)bedrock-runtime\./.test(hostname) ? '/model' : basePath;
  const match = VERTEX.path.exec(path) ?? (isBedrock ? BEDROCK.path.exec(path) : null);
  return match?.[1] === undefined ? undefined : origin + match[1] + search;
}

/** The request in the form of the cloud of its endpoint; unchanged for any other, undefined where the cloud has no such request. */
export function cloudRequest(request: ModelRequest, form: RequestForm): ModelRequest | undefined {
  const url = new URL(request.url);
  const cloud = [VERTEX, BEDROCK].find(({ path }) => path.exec(url.pathname)?.[1] === url.pathname);
  if (!cloud || !isRecord(request.body)) return request;
  const { model, stream, ...body } = request.body;
  const place = cloud.place(String(model), form);
  if (place === undefined) return undefined;
  url.pathname += place;
  // These services take a key only as a bearer token.
  const { 'x-api-key': _, 'anthropic-beta': betas, ...headers } = request.headers;
  const inBody = cloud.hasBetasInBody && betas !== undefined;
  return {
    ...request,
    url: url.href,
    headers: {
      ...headers,
      ...bearerOf(request.secrets.credential),
      ...(betas !== undefined && !inBody && { 'anthropic-beta': betas }),
    },
    body: {
      anthropic_version: cloud.version,
      ...(inBody && { anthropic_beta: betas.split(',').map((beta) => beta.trim()) }),
      ...body,
      ...(form === 'count' ? { model } : cloud.fields(String(model), stream)),
    },
  };
}
