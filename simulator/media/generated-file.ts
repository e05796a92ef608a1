import { readFileSync } from 'node:fs';
import { hashText } from '../hash.js';
import type { Exchange } from '../http/exchange.js';
import { errorBody } from '../http/protocol.js';
import { replyBytes, replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';
import { playMelody } from './melody.js';
import { drawPicture } from './picture.js';

const DEFAULT_SIDE = 1024;
const MIN_SIDE_PIXELS = 16;
const MAX_SIDE_PIXELS = 2048;
const DEFAULT_SECONDS = 2;
const MAX_SECONDS = 10;
const MAX_NOTE_COUNT = 60;

/** One second of H.264, 32 by 32 pixels: every video is this one, whatever prompt and length its name says. */
const CLIP = readFileSync(new URL('clip.mp4', import.meta.url));

/** A file is fully described by its name, so that nothing has to be kept to serve it. */
const NAME = /^([0-9a-f]{8})-(\d{1,4})(?:x(\d{1,4}))?\.(png|wav|mp4)$/;

interface GeneratedFile {
  type: string;
  bytes: Buffer;
}

/** Name of the picture for a prompt; the size is `1024x768` or `1024*768`. */
export function imageName(prompt: string, size: string): string {
  const [width, height] = (/^(\d+)[x*](\d+)$/i.exec(size) ?? []).slice(1).map(Number);
  const side = (value = DEFAULT_SIDE) => clamp(value, MIN_SIDE_PIXELS, MAX_SIDE_PIXELS);
  return `${seedOf(prompt)}-${side(width)}x${side(height)}.png`;
}

/** Name of the sound for a text: one tone for each word or a few characters. */
export function audioName(input: string, voice: string): string {
  const notes = clamp(Math.ceil([...input].length / 5), 1, MAX_NOTE_COUNT);
  return `${seedOf(`${voice} ${input}`)}-${notes}.wav`;
}

export function videoName(prompt: string, seconds = DEFAULT_SECONDS): string {
  return `${seedOf(prompt)}-${clamp(Math.trunc(seconds), 1, MAX_SECONDS)}.mp4`;
}

export function fileAddress(exchange: Exchange, name: string): string {
  return `${exchange.origin}/files/${name}`;
}

/** Makes the file of a name; undefined when no such file can exist. */
export function makeFile(name: string): GeneratedFile | undefined {
  const [, seedText = '', first = '', second = first, kind] = NAME.exec(name) ?? [];
  const [seed, number, height] = [parseInt(seedText, 16), Number(first), Number(second)];
  if (number < 1 || height < 1) return undefined;
  switch (kind) {
    case 'png':
      if (Math.max(number, height) > MAX_SIDE_PIXELS) return undefined;
      return { type: 'image/png', bytes: drawPicture(seed, number, height) };
    case 'wav':
      if (number > MAX_NOTE_COUNT) return undefined;
      return { type: 'audio/wav', bytes: playMelody(seed, number) };
    case 'mp4':
      if (number > MAX_SECONDS) return undefined;
      return { type: 'video/mp4', bytes: CLIP };
    default:
      return undefined;
  }
}

export const fileRoutes: Route[] = [
  {
    method: 'GET',
    path: /\/files\/([\w.-]+)$/,
    protocol: 'chat-completions',
    isPublic: true,
    async handle(exchange, behaviour, name) {
      const file = makeFile(name);
      if (file !== undefined) return replyBytes(exchange, file.type, file.bytes, behaviour);
      await replyJson(exchange, 404, errorBody('chat-completions', 404, 'No such file'));
    },
  },
];

function seedOf(text: string): string {
  return hashText(text).toString(16).padStart(8, '0');
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
