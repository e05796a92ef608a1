import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { OpenedFile } from './storage.service.js';

/**
 * Writes a file as an attachment (RFC 6266, names by RFC 5987). Uploaded content is never to run in our origin:
 * no guessing of its type, and a sandbox without any right should a browser show it after all.
 */
export async function sendAttachment(response: Response, file: OpenedFile): Promise<void> {
  response.attachment(file.originalName);
  response.set({
    'Content-Length': String(file.byteSize),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-store',
  });
  // After attachment(), which sets the type that the name claims.
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
