import { z } from 'zod';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { readHtml } from './html.format.js';

/** Characters of the outputs of one cell that are kept; a log of hours is no text for readers. */
const MAX_OUTPUT_CHARS = 20_000;

/** Escape sequences of terminals, with which tracebacks are coloured. */
const COLOURS = /\u001b\[[\d;]*[A-Za-z]/g;

/** A text in one piece or in lines. */
const lines = z
  .union([z.string(), z.array(z.string()).transform((parts) => parts.join(''))])
  .catch('');

/** Outputs of a cell, in nbformat 4 and 3: a stream, data in several forms, or an error. */
const output = z.object({
  text: lines.optional(),
  data: z.record(z.string(), z.unknown()).optional().catch(undefined),
  html: lines.optional(),
  ename: z.string().optional().catch(undefined),
  evalue: z.string().optional().catch(undefined),
  traceback: z.array(z.string()).optional().catch(undefined),
});

const cell = z.object({
  cell_type: z.string().catch('code'),
  source: lines.optional(),
  /** The code of a cell in nbformat 3. */
  input: lines.optional(),
  level: z.number().optional().catch(undefined),
  outputs: z.array(output.catch({})).catch([]),
});

const notebook = z.object({
  cells: z.array(cell).optional(),
  worksheets: z.array(z.object({ cells: z.array(cell) })).optional(),
  metadata: z
    .object({
      kernelspec: z.object({ language: z.string().optional() }).optional(),
      language_info: z.object({ name: z.string().optional() }).optional(),
    })
    .optional()
    .catch(undefined),
});

type Output = z.infer<typeof output>;
type Cell = z.infer<typeof cell>;

/**
 * A Jupyter notebook as Markdown: its texts, its code in blocks, and what each cell has put out as text, tables and errors.
 * No pictures. Undefined for JSON that is no notebook.
 */
export function readNotebook(json: string): SourceDocument | undefined {
  const parsed = notebook.safeParse(parseJson(json));
  if (!parsed.success) return undefined;
  const { cells, worksheets, metadata } = parsed.data;
  const all = cells ?? worksheets?.flatMap((sheet) => sheet.cells);
  if (!all) return undefined;
  const language = metadata?.kernelspec?.language ?? metadata?.language_info?.name ?? 'python';
  const text = all
    .map((one) => textOf(one, language))
    .filter((part) => part !== '')
    .join('\n\n');
  return { kind: 'markdown', text };
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function textOf(
  { cell_type: type, source, input, level, outputs }: Cell,
  language: string,
): string {
  const text = (source ?? input ?? '').trim();
  if (type === 'heading') return `${'#'.repeat(Math.min(Math.max(level ?? 1, 1), 6))} ${text}`;
  if (type !== 'code') return text;
  const outputText = outputs
    .map(outputOf)
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, MAX_OUTPUT_CHARS)
    .toWellFormed();
  return [
    fenced(text, language),
    outputText === '' ? '' : `Output:\n\n${fenced(outputText, 'text')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function outputOf({ text, data, html, ename, evalue, traceback }: Output): string {
  if (ename !== undefined) {
    return (traceback?.join('\n') ?? `${ename}: ${evalue ?? ''}`).replace(COLOURS, '').trim();
  }
  const form = (type: string) => lines.parse(data?.[type]).trim();
  const page = form('text/html') || (html ?? '');
  const markdown = form('text/markdown') || form('text/latex');
  // A table is read better as a page than as its printed columns.
  if (/<table\b/i.test(page)) return readHtml(page).text;
  const plain = markdown || form('text/plain') || (text ?? '').replace(COLOURS, '').trim();
  return plain === '' && page !== '' ? readHtml(page).text : plain;
}

/** Wraps a text in a fence that the text itself does not close. */
function fenced(text: string, language: string): string {
  if (text === '') return '';
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
