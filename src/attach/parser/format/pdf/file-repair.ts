import {
  dictionaryOf,
  FileObjects,
  MAX_STREAM_BYTES,
  nameOf,
  PdfReference,
} from './file-objects.js';
import type { PdfObject, PdfValue } from './file-objects.js';

/** Levels of the tree of pages. */
const MAX_DEPTH = 50;

/** Number of bytes before the end within which a complete file has its end marker. */
const END_BYTES = 2_048;

/** Whether the end of the file, and so some objects, may be missing. */
export function isCut(bytes: Buffer): boolean {
  return !bytes.subarray(-END_BYTES).includes('%%EOF');
}

/**
 * A file whose trailer is lost, with a new one: its own catalogue where all pages that are left are in the tree of that, else
 * one of these pages in the order of the file. Undefined where no page is left, or what is left is encrypted.
 */
export function withTrailer(bytes: Buffer): Buffer | undefined {
  const file = new FileObjects(bytes);
  const objects = [...file.objects.values()];
  if (objects.some(({ value }) => nameOf(dictionaryOf(value)?.get('Filter')) === 'Standard')) {
    return undefined;
  }
  const pages = objects.filter(({ value }) => typeOf(value) === 'Page');
  if (pages.length === 0) return undefined;
  const added = objects.flatMap((object) =>
    object.packed === undefined ? [] : [written(object, object.packed)],
  );
  if (file.unfinished) added.push(written(file.unfinished, restOf(file, file.unfinished)));
  const catalog = objects.findLast(
    ({ value }) => typeOf(value) === 'Catalog' && isComplete(file, value, pages),
  );
  const next = objects.reduce((most, { number }) => Math.max(most, number), 0) + 1;
  if (!catalog) {
    const kids = pages.map(({ number, generation }) => `${number} ${generation} R`).join(' ');
    const tree = `<< /Type /Pages /Count ${pages.length} /Kids [${kids}] /MediaBox [0 0 612 792] >>`;
    added.push(
      written({ number: next, generation: 0 }, tree),
      written({ number: next + 1, generation: 0 }, `<< /Type /Catalog /Pages ${next} 0 R >>`),
    );
  }
  const root = catalog ?? { number: next + 1, generation: 0 };
  const trailer = `trailer\n<< /Size ${next + 2} /Root ${root.number} ${root.generation} R >>\n%%EOF\n`;
  return Buffer.concat([
    bytes.subarray(0, file.end),
    Buffer.from(['\n', ...added, trailer].join(''), 'latin1'),
  ]);
}

/** The intact beginning of a cut content stream; other cut objects are empty. */
function restOf(file: FileObjects, object: PdfObject): string {
  const isContent = !dictionaryOf(object.value)?.has('Subtype');
  const data = isContent ? file.data(object, MAX_STREAM_BYTES)?.toString('latin1') : undefined;
  return data === undefined ? 'null' : `<< /Length ${data.length} >>\nstream\n${data}\nendstream`;
}

function written({ number, generation }: Pick<PdfObject, 'number' | 'generation'>, source: string) {
  return `${number} ${generation} obj\n${source}\nendobj\n`;
}

function isComplete(file: FileObjects, catalog: PdfValue, pages: readonly PdfObject[]): boolean {
  const pageObjects = new Set<number>();
  const visitedObjects = new Set<number>();
  const visit = (value: PdfValue | undefined, depth: number): void => {
    if (!(value instanceof PdfReference) || depth > MAX_DEPTH || visitedObjects.has(value.object))
      return;
    visitedObjects.add(value.object);
    const node = file.dictionary(value);
    if (typeOf(node) === 'Page') pageObjects.add(value.object);
    const kids = file.resolve(node?.get('Kids'));
    for (const kid of Array.isArray(kids) ? (kids as readonly PdfValue[]) : [])
      visit(kid, depth + 1);
  };
  visit(dictionaryOf(catalog)?.get('Pages'), 0);
  return pages.every(({ number }) => pageObjects.has(number));
}

function typeOf(value: PdfValue | undefined): string | undefined {
  return nameOf(dictionaryOf(value)?.get('Type'));
}
