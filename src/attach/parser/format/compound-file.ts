import { CFB } from '@e965/xlsx';
import { msg } from '../../../platform/message/index.js';
import { damaged, ForeignDocument } from './document-source.js';
import { passwordProtected } from './document-package.js';

export type CompoundKind = 'doc' | 'xls' | 'ppt' | 'msg' | 'other';

/** The reader of compound files in SheetJS, whose declarations leave it out. */
interface CompoundFiles {
  read(
    bytes: Buffer,
    options: { readonly type: 'buffer' },
  ): {
    /** Paths such as `Root Entry/WordDocument`, in the order of the entries. */
    readonly FullPaths: readonly string[];
    readonly FileIndex: readonly { readonly content?: Uint8Array }[];
  };
}

const compoundFiles = CFB as CompoundFiles;

/** Streams of the root that identify the kind; embedded files have streams of their own further down. */
const STREAMS: readonly (readonly [string, CompoundKind])[] = [
  ['__properties_version1.0', 'msg'],
  ['WordDocument', 'doc'],
  ['Workbook', 'xls'],
  // Excel 5 and 95.
  ['Book', 'xls'],
  ['PowerPoint Document', 'ppt'],
];

/** The streams of encrypted Office documents [MS-OFFCRYPTO]. */
const ENCRYPTED = ['EncryptedPackage', 'EncryptionInfo', 'EncryptedSummary'];

export interface CompoundFile {
  readonly kind: CompoundKind;
  /** A stream of the file itself; undefined where there is none. */
  readonly stream: (name: string) => Buffer | undefined;
}

/** Opens an OLE compound file. Throws Refusal for one that is damaged or encrypted. */
export function openCompoundFile(bytes: Buffer): CompoundFile {
  const streams = streamsOf(bytes);
  if (ENCRYPTED.some((name) => streams.has(name))) throw passwordProtected();
  const kind = STREAMS.find(([name]) => streams.has(name))?.[1] ?? 'other';
  // Streams are copied on access, because few are read.
  return {
    kind,
    stream: (name) => {
      const content = streams.get(name);
      return content && Buffer.from(content);
    },
  };
}

/** The streams of the root, by name. */
function streamsOf(bytes: Buffer): ReadonlyMap<string, ArrayLike<number>> {
  try {
    const { FullPaths, FileIndex } = compoundFiles.read(bytes, { type: 'buffer' });
    const streams = new Map<string, ArrayLike<number>>();
    for (const [index, path] of FullPaths.entries()) {
      const [, name = '', inner] = path.split('/');
      if (inner === undefined && name !== '') {
        streams.set(name, FileIndex[index]?.content ?? []);
      }
    }
    return streams;
  } catch (error) {
    // The names of streams are UTF-16 in the file.
    const isEncrypted = bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'));
    throw isEncrypted ? passwordProtected() : damaged(error);
  }
}

/** The refusal of a compound file that holds no document of a format that is read. */
export function refusalOfCompoundFile(to: 'docx' | 'pdf'): ForeignDocument {
  return new ForeignDocument(
    msg`This is an old binary Office format, which is not supported. Open it, save it as .docx, .xlsx or PDF and upload that.`,
    to,
  );
}
