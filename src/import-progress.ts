import type { ImportProgress } from './attach/index.js';

/** Where no terminal can overwrite the last line, there is a new one this often. */
const LINE_MS = 10_000;

const WORDS: Readonly<Record<ImportProgress['step'], string>> = {
  looking: 'Files looked at',
  storing: 'Files stored',
  parsing: 'Documents parsed',
};

/** Shows how far an import is on the standard error, so that the standard output is the result alone. */
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

  /** Leaves the last line as it is. */
  end(): void {
    if (this.inTerminal && this.shown !== '') process.stderr.write('\n');
  }
}
