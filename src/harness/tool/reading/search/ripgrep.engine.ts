import { z } from 'zod';
import { filesArguments, textArguments } from './ripgrep.arguments.js';
import { ripgrepOutput } from './ripgrep.js';
import type { FilesQuery, FoundLine, SearchEngine, TextQuery } from './search.query.js';

const NEWLINE = 0x0a;

/** Text, or base64 where it is no UTF-8. */
const content = z.union([
  z.object({ text: z.string() }).transform(({ text }) => Buffer.from(text)),
  z.object({ bytes: z.base64() }).transform(({ bytes }) => Buffer.from(bytes, 'base64')),
]);

const message = z.discriminatedUnion('type', [
  z.object({
    type: z.enum(['match', 'context']),
    data: z.object({
      // A name that is no UTF-8 cannot be asked for.
      path: z.object({ text: z.string().optional() }),
      lines: content,
      line_number: z.int(),
      absolute_offset: z.int(),
      submatches: z.array(z.object({ start: z.int() })),
    }),
  }),
  z.object({ type: z.enum(['begin', 'end', 'summary']) }),
]);

/** Looks with ripgrep. */
export class RipgrepEngine implements SearchEngine {
  constructor(private readonly program: string) {}

  async *lines(query: TextQuery, signal: AbortSignal): AsyncGenerator<FoundLine> {
    const output = ripgrepOutput(this.program, textArguments(query), { cwd: query.root, signal });
    for await (const json of split(output, NEWLINE)) {
      const line = foundLine(json);
      if (line) yield line;
    }
  }

  async *files(query: FilesQuery, signal: AbortSignal): AsyncGenerator<string> {
    const output = ripgrepOutput(this.program, filesArguments(query), { cwd: query.root, signal });
    for await (const path of split(output, 0)) yield path.toString().replace(/^\.\//, '');
  }
}

function foundLine(json: Buffer): FoundLine | undefined {
  const { data: read } = message.safeParse(JSON.parse(json.toString()));
  if (!read || !('data' in read)) return undefined;
  const { path, lines, line_number: line, absolute_offset: offset, submatches } = read.data;
  if (path.text === undefined) return undefined;
  return {
    path: path.text.replace(/^\.\//, ''),
    line,
    offset,
    bytes: lines,
    isMatch: read.type === 'match',
    column: submatches[0]?.start ?? 0,
  };
}

/** The pieces between the separators; what follows the last one is incomplete, and left out. */
async function* split(output: AsyncIterable<Buffer>, separator: number): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of output) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(separator, start);
      if (end < 0) break;
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
  }
}
