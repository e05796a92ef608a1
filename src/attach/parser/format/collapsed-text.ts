/**
 * A line of text in which blanks in a row become one, as HTML and OpenDocument want it. What was appended last is known
 * without looking at the text, whose end costs a copy of all of it while it grows.
 */
export class CollapsedText {
  private collapsed = '';
  private afterBlank = true;

  /** Blanks and line ends are one blank, or none behind another. */
  add(text: string): void {
    const collapsed = text.replace(/[ \t\n\r\f]+/g, ' ');
    this.addExactly(this.afterBlank && collapsed.startsWith(' ') ? collapsed.slice(1) : collapsed);
  }

  addExactly(text: string): void {
    if (text === '') return;
    this.collapsed += text;
    this.afterBlank = /[ \t\n]$/.test(text.slice(-1));
  }

  /** Returns the text written since the last call. */
  take(): string {
    const { collapsed } = this;
    this.collapsed = '';
    this.afterBlank = true;
    return collapsed;
  }
}
