import type { ImportProgress } from './attach/index.js';

/** Interval of progress lines when the output is not a terminal. */
const LINE_MS = 10_000;

const WORDS: Readonly<Record<ImportProgress['step'], string>> = {
  looking: 'Files scanned',
  storing: 'Files stored',
  parsing: 'Documents parsed',
};

/** Prints the progress of an import on the standard error, so that the standard output has only the result. */
export class ProgressLine {
  private readonly inTerminal = process.stderr.isTTY;
  private shown = '';
  private shownAt = performance.now();

  readonly show = ({ step, done, total }: ImportProgress): void => {
    const line = `${WORDS[step]}: ${done}${total === undefined ? '' : ` of ${total}`}`;
    if (line === this.shown) return;
    if (this.inTerminal) process.stderr.write(`\r\u001b[K${line}`);
    else if (performance.now() - this.shownAt < LINE_MS) return;
    else process.stderr.write(`${line}\n`);
    this.shown = line;
    this.shownAt = performance.now();
  };

  /** Ends the line of the terminal. */
  end(): void {
    if (this.inTerminal && this.shown !== '') process.stderr.write('\n');
  }
}
