import { done } from './people.js';
import type { Session } from './session.js';

/** Real images of one pixel, by their media types. */
export const PIXELS = {
  'image/png': Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  'image/jpeg': Buffer.from(
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
    'base64',
  ),
  'image/gif': Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  'image/webp': Buffer.from(
    'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=',
    'base64',
  ),
} as const;

/** Uploads a file and answers its id. */
export async function uploadFile(
  session: Session,
  name: string,
  content: string | Buffer,
): Promise<string> {
  const form = new FormData();
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
  form.append('file', new Blob([Uint8Array.from(bytes)]), name);
  return done(await session.upload<{ ossId: string }>('/resource/oss/upload', form)).data.ossId;
}

/** A text of numbered sentences with about so many tokens. */
export function longText(topic: string, tokens: number): string {
  const sentence = (number: number): string =>
    `Paragraph ${number} says something ordinary about ${topic}.`;
  const count = Math.ceil((tokens * 4) / sentence(1_000).length);
  return Array.from({ length: count }, (_, index) => sentence(index + 1)).join('\n\n');
}
