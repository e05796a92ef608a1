import { LARGEST_EVENT_BYTES, LineDecoder, tooLarge } from './line-decoder.js';

/** Decodes newline-delimited JSON into the text of each line. Throws UpstreamError (protocol) beyond 1 MiB a line. */
export class JsonLinesDecoder {
  private readonly decoder = new LineDecoder((bytes, start, end) => this.line(bytes, start, end));
  private lines: string[] = [];

  /** Adds the lines that this read completes to `lines`, also when it throws, and answers them. */
  push(bytes: Buffer, lines: string[] = []): string[] {
    this.lines = lines;
    this.decoder.push(bytes);
    return lines;
  }

  /** A last line without an end. */
  end(lines: string[] = []): string[] {
    this.lines = lines;
    this.decoder.end();
    return lines;
  }

  private line(bytes: Buffer, start: number, end: number): void {
    if (end - start > LARGEST_EVENT_BYTES) throw tooLarge();
    const text = bytes.toString('utf8', start, end);
    if (text.trim() !== '') this.lines.push(text);
  }
}
