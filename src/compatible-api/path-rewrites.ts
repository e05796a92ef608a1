import type { Request, RequestHandler } from 'express';
import { KeyInAddressError } from './gemini/gemini.errors.js';

/** What Azure has below the path of a deployment (learn.microsoft.com, Azure OpenAI REST API reference, November 2026). */
const ENDPOINTS = [
  ...['chat/completions', 'completions', 'embeddings', 'responses', 'rerank', 'moderations'],
  ...['images/(?:generations|edits|variations)', 'audio/(?:speech|transcriptions|translations)'],
].join('|');
/** A deployment stands for a model. Clients do not encode the slashes of its name. */
const DEPLOYMENT = new RegExp(String.raw`^\/openai\/deployments\/(.+?)\/(${ENDPOINTS})\/?$`, 'i');
/** The interface of the newer generation, whose requests name the model. The Messages protocol is not part of it. */
const NEWER = /^\/openai\/v1\/(?!messages(?:\/|$))(.+)$/i;
/** Paths of the older interface that belong to no deployment. There is no such path without a version. */
const OLDER = /^\/openai\/(?!v\d|deployments\/)(.+)$/i;
const VERSION = 'api-version';

/** The name of a model with slashes in a path of the Gemini interface, which clients do not encode. */
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

/** The body names the model, whether it is read as JSON or as a form, and whatever it names itself. */
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
