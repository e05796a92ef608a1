import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { isPageImage } from './file-type.js';
import type { OpenedFile } from './storage.service.js';

/** The cache header of a file: it may be deleted, so a cache keeps it for a short time only. */
const SHARED_CACHE = 'private, max-age=300';

/** Writes a file as an attachment (RFC 6266, names by RFC 5987). */
export async function sendAttachment(response: Response, file: OpenedFile): Promise<void> {
  response.attachment(file.originalName);
  await send(response, file, 'private, no-store');
}

/** Writes the file of a signed address: an image that a page may show as such, every other type as an attachment. */
export async function sendShared(response: Response, file: OpenedFile): Promise<void> {
  if (!isPageImage(file.mimeType)) return sendAttachment(response, file);
  response.set('Content-Disposition', 'inline');
  await send(response, file, SHARED_CACHE);
}

/**
 * Uploaded content must not run in this origin: no type sniffing, and a CSP sandbox without permissions in case a browser
 * displays it as a document.
 */
async function send(response: Response, file: OpenedFile, caching: string): Promise<void> {
  response.set({
    'Content-Length': String(file.byteSize),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': caching,
  });
  // The type is set after attachment(), which sets one by the name.
  response.setHeader('Content-Type', file.mimeType);
  try {
    await pipeline(file.content, response);
  } catch (error) {
    if (!clientLeft(error)) throw error;
  }
}

function clientLeft(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
