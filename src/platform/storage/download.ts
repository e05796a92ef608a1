import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { OpenedFile } from './storage.service.js';

/**
 * Writes a file as an attachment (RFC 6266, names by RFC 5987). Uploaded content must not run in this origin: no type
 * sniffing, and a CSP sandbox without permissions in case a browser displays it.
 */
export async function sendAttachment(response: Response, file: OpenedFile): Promise<void> {
  response.attachment(file.originalName);
  response.set({
    'Content-Length': String(file.byteSize),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-store',
  });
  // After attachment(), which sets a type by the name.
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
