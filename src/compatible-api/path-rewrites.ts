import type { Request, RequestHandler } from 'express';
import { KeyInAddressError } from './gemini/gemini.errors.js';

/** Operations below the path of an Azure deployment (learn.microsoft.com, Azure OpenAI REST API reference, November 2026). */
const ENDPOINTS = [
  ...['chat/completions', 'completions', 'embeddings', 'responses', 'rerank', 'moderations'],
  ...['images/(?:generations|edits|variations)', 'audio/(?:speech|transcriptions|translations)'],
].join('|');
/** Path of an Azure deployment, whose name is that of a model. Clients do not encode slashes in it. */
const DEPLOYMENT = new RegExp(String.raw`^\/openai\/deployments\/(.+?)\/(${ENDPOINTS})\/?$`, 'i');
/** Paths of the newer Azure API, whose requests name the model. It does not include the Messages protocol. */
const NEWER = /^\/openai\/v1\/(?!messages(?:\/|$))(.+)$/i;
/** Paths of the older interface that belong to no deployment. There is no such path without a version. */
const OLDER = /^\/openai\/(?!v\d|deployments\/)(.+)$/i;
const VERSION = 'api-version';

/** A Gemini model name with slashes, which clients do not encode in the path. */
const GEMINI_NAME = /^(\/v1beta\/models\/)([^?]+\/[^?]+)/i;

/** The paths that `pathRewrites` changes or refuses. */
export const REWRITTEN_PATHS = /^\/(?:openai|v1beta)\//i;

/**
 * Runs before anything reads the path. Paths of Azure OpenAI become those below /v1: access, limits, body and answer are those of the
 * same route. The version is ignored, because there is only one. On paths of the Gemini interface the name of a model may have
 * slashes, and a key is refused.
 */
export const pathRewrites: RequestHandler = (request, _response, next) => {
  if (/^\/openai\//i.test(request.url)) rewriteAzure(request);
  else if (request.query['key'] !== undefined) {
    next(new KeyInAddressError());
    return;
  } else {
    request.url = request.url.replace(
      GEMINI_NAME,
      (_, start: string, name: string) => start + name.replaceAll('/', '%2F'),
    );
  }
  next();
};

function rewriteAzure(request: Request): void {
  const { path, query } = request;
  const [, deployment, endpoint] = DEPLOYMENT.exec(path) ?? [];
  const older = query[VERSION] === undefined ? undefined : OLDER.exec(path)?.[1];
  const rest = endpoint ?? NEWER.exec(path)?.[1] ?? older;
  if (rest === undefined) return;
  if (deployment !== undefined) nameModel(request, decoded(deployment));
  const others = new URLSearchParams(request.url.split('?').slice(1).join('?'));
  others.delete(VERSION);
  request.url = `/v1/${rest}${others.size > 0 ? `?${others.toString()}` : ''}`;
}

/** Replaces the model of a JSON or form body with that of the path. */
function nameModel(request: Request, model: string): void {
  let body: unknown;
  Object.defineProperty(request, 'body', {
    configurable: true,
    enumerable: true,
    get: () => {
      const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
      return isObject ? Object.assign(body as object, { model }) : body;
    },
    set: (value: unknown) => {
      body = value;
    },
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
