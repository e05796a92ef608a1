import { buffer } from 'node:stream/consumers';
import { zipSync } from 'fflate';
import readXlsxFile from 'read-excel-file/node';
import { fromBufferPromise } from 'yauzl';
import { msg } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';

/** Limit of the unpacked bytes of all parts, which bounds the memory and the time that blocks the event loop. */
const MAX_UNPACKED_BYTES = 4 * 2 ** 20;
const MAX_PART_COUNT = 200;

/**
 * The rows of the first sheet of an .xlsx file, with their cells as texts. InvalidInputError for another format, a damaged
 * file, and one that is larger than 4 MiB when it is unpacked.
 */
export async function readWorkbook(bytes: Buffer): Promise<readonly (readonly string[])[]> {
  const checked = await withinLimits(bytes);
  const [first] = await readXlsxFile(checked).catch(() => {
    throw new InvalidInputError(UNREADABLE);
  });
  return (first?.data ?? []).map((cells) => cells.map(textOf));
}

const UNREADABLE = msg`The file is not an .xlsx workbook, or it is damaged. Save it again as .xlsx and upload that.`;

/** The same file without its media, whose parts were compared with their declared sizes while they were unpacked. */
async function withinLimits(bytes: Buffer): Promise<Buffer> {
  const parts: Record<string, Buffer> = {};
  try {
    const zip = await fromBufferPromise(bytes);
    if (zip.entryCount > MAX_PART_COUNT) throw new TooLargeError();
    let unpacked = 0;
    for await (const entry of zip.eachEntry()) {
      if (!/\.(?:xml|rels)$/i.test(entry.fileName)) continue;
      unpacked += entry.uncompressedSize;
      if (unpacked > MAX_UNPACKED_BYTES) throw new TooLargeError();
      const part = await buffer(await zip.openReadStreamPromise(entry));
      // ECMA-376 part 2 forbids them: entities could grow without end.
      if (part.includes('<!DOCTYPE')) throw new InvalidInputError(UNREADABLE);
      parts[entry.fileName] = part;
    }
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new InvalidInputError(UNREADABLE, { cause: error });
  }
  return Buffer.from(zipSync(parts, { level: 0 }));
}

class TooLargeError extends InvalidInputError {
  constructor() {
    super(msg`The workbook is too large. Split it, and remove sheets that are not needed.`);
  }
}

function textOf(cell: unknown): string {
  if (cell instanceof Date) return cell.toISOString().slice(0, 10);
  return typeof cell === 'string' || typeof cell === 'number' || typeof cell === 'boolean'
    ? String(cell).trim()
    : '';
}
