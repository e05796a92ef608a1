import { markdownBlocks } from '../../../fragment/splitter/index.js';
import type { RecognisedPage } from './document-source.js';
import { storable } from './text/text-encoding.js';
import type { BlockWriter } from './table-writer.js';

/** Writes what text recognition has read from a page: paragraphs, and of Markdown headings and tables, too. */
export function writeRecognised(writer: BlockWriter, { format, text }: RecognisedPage): void {
  const clean = storable(text);
  if (format === 'text') paragraphs(writer, clean);
  else writeMarkdown(writer, withoutFence(clean));
}

function writeMarkdown(writer: BlockWriter, text: string): void {
  let row = 0;
  for (const { type, start, end, level = 1, title = '' } of markdownBlocks(text)) {
    const blockText = text.slice(start, end);
    if (type === 'header') {
      row = 1;
      const [head = ''] = blockText.trim().split('\n');
      writer.row('table-header', { cells: cellsOf(head), row });
    } else if (type === 'row') {
      row += 1;
      writer.row('table-row', { cells: cellsOf(blockText), row });
    } else if (type === 'heading') writer.heading(title, level);
    else paragraphs(writer, blockText);
  }
}

function paragraphs(writer: BlockWriter, text: string): void {
  for (const paragraph of text.split(/\n[^\S\n]*(?:\n[^\S\n]*)+|\f/)) {
    writer.paragraph(paragraph.trim());
  }
}

/** The cells of a row of a Markdown table; an escaped bar is part of a cell. */
function cellsOf(line: string): string[] {
  const bare = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return bare.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
}

/** Models like to put the whole page into a code block. */
function withoutFence(text: string): string {
  return /^\s*```(?:markdown|md)?[^\S\n]*\n([^]*?)\n?```\s*$/i.exec(text)?.[1] ?? text;
}
