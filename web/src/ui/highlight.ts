/** A piece of a line with its colours in the light and the dark theme; empty ones for plain text. */
export type Token = readonly [text: string, light: string, dark: string];
export type Line = readonly Token[];

export interface HighlightRequest {
  readonly id: number;
  readonly code: string;
  readonly language: string;
}

export interface HighlightAnswer {
  readonly id: number;
  /** Highlighted lines; absent for an unknown language. */
  readonly lines?: readonly Line[];
}

/** Longer code is not highlighted, because too many elements slow down the page. */
const MAX_CODE_CHARS = 60_000;
const MAX_CACHED_COUNT = 200;

let worker: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, (lines: readonly Line[] | undefined) => void>();
const cache = new Map<string, Promise<readonly Line[] | undefined>>();

/** Highlights code in a worker, so that the page stays responsive. Undefined if the code is not highlighted. */
export function highlighted(code: string, language: string): Promise<readonly Line[] | undefined> {
  if (language === '' || code.length > MAX_CODE_CHARS) return Promise.resolve(undefined);
  const key = `${language}\n${code}`;
  const cachedLines = cache.get(key);
  if (cachedLines) return cachedLines;
  const lines = ask(code, language.toLowerCase());
  cache.set(key, lines);
  const [oldest] = cache.keys();
  if (cache.size > MAX_CACHED_COUNT && oldest !== undefined) cache.delete(oldest);
  return lines;
}

function ask(code: string, language: string): Promise<readonly Line[] | undefined> {
  worker ??= started();
  const id = (lastId += 1);
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker?.postMessage({ id, code, language } satisfies HighlightRequest);
  });
}

function started(): Worker {
  const newWorker = new Worker(new URL('./highlight.worker.ts', import.meta.url), {
    type: 'module',
  });
  newWorker.onmessage = ({ data: { id, lines } }: MessageEvent<HighlightAnswer>) => {
    waiting.get(id)?.(lines);
    waiting.delete(id);
  };
  // Code is not highlighted if the worker cannot run.
  newWorker.onerror = () => {
    for (const resolve of waiting.values()) resolve(undefined);
    waiting.clear();
  };
  return newWorker;
}
