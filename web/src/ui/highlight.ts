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
  /** Absent for a language that is not known. */
  readonly lines?: readonly Line[];
}

/** Longer code stays plain: so many coloured elements make a page slow. */
const LONGEST = 60_000;
const MOST_KEPT = 200;

let worker: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, (lines: readonly Line[] | undefined) => void>();
const kept = new Map<string, Promise<readonly Line[] | undefined>>();

/** Colours code in a worker, so that a page stays quick. Undefined where it stays plain. */
export function highlighted(code: string, language: string): Promise<readonly Line[] | undefined> {
  if (language === '' || code.length > LONGEST) return Promise.resolve(undefined);
  const key = `${language}\n${code}`;
  const known = kept.get(key);
  if (known) return known;
  const lines = ask(code, language.toLowerCase());
  kept.set(key, lines);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
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
  const begun = new Worker(new URL('./highlight.worker.ts', import.meta.url), { type: 'module' });
  begun.onmessage = ({ data: { id, lines } }: MessageEvent<HighlightAnswer>) => {
    waiting.get(id)?.(lines);
    waiting.delete(id);
  };
  // Code stays plain where the worker cannot run.
  begun.onerror = () => {
    for (const resolve of waiting.values()) resolve(undefined);
    waiting.clear();
  };
  return begun;
}
