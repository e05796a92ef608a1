import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** URL, line and column of a frame in a built file. */
const BUILT_FRAME = /(file:\/\/\S+\.js):(\d+):(\d+)/g;

const maps = new Map<string, SourceMap | undefined>();

/**
 * A stack trace with the places of the sources instead of those of the bundle. A map is read with its first frame. Node's
 * --enable-source-maps reads all of them at the start, which takes 45 MB.
 */
export function sourceStack(stack: string): string {
  return stack.replace(BUILT_FRAME, (frame, url: string, line: string, column: string) => {
    const origin = mapOf(url)?.findOrigin(Number(line), Number(column));
    if (origin === undefined || !('fileName' in origin)) return frame;
    const file = origin.fileName.replace(/^(\.\.\/)+/, '');
    return `${file}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) {
    const file = `${fileURLToPath(url)}.map`;
    const map = existsSync(file)
      ? new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMap['payload'])
      : undefined;
    maps.set(url, map);
  }
  return maps.get(url);
}
