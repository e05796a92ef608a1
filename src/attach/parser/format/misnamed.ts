import { msg } from '../../../platform/message/index.js';
import type { Message } from '../../../platform/message/index.js';
import { readsAsTable } from './csv.format.js';
import { Refusal } from './document-source.js';
import { suffixOf } from './text/source-language.js';

/** Binary formats by the suffixes that claim them. */
const binaryNames: readonly (readonly [Message, readonly string[]])[] = [
  [msg`a PDF`, ['.pdf']],
  [msg`a Word document`, ['.doc', '.dot', '.docx', '.docm', '.dotx', '.dotm']],
  [msg`an Excel workbook`, ['.xls', '.xlt', '.xlsx', '.xlsm', '.xlsb', '.xltx', '.xltm']],
  [
    msg`a PowerPoint presentation`,
    ['.ppt', '.pps', '.pot', '.pptx', '.pptm', '.ppsx', '.ppsm', '.potx', '.potm'],
  ],
  [msg`an OpenDocument file`, ['.odt', '.ott', '.ods', '.ots', '.odp', '.otp', '.odg']],
  [msg`an Outlook message`, ['.msg']],
  [msg`a rich text document`, ['.rtf']],
  [msg`an EPUB book`, ['.epub']],
  [msg`an archive`, ['.zip', '.gz', '.tgz', '.tar', '.bz2', '.xz', '.7z', '.rar']],
  [msg`an image`, ['.png', '.jpg', '.jpeg', '.gif', '.webp', '.bmp', '.tif', '.tiff']],
  [msg`an audio file`, ['.mp3', '.wav', '.ogg', '.flac', '.m4a']],
  [msg`a video file`, ['.mp4', '.webm', '.mov', '.avi', '.mkv']],
];

const formatOf = new Map(
  binaryNames.flatMap(([format, suffixes]) => suffixes.map((suffix) => [suffix, format] as const)),
);

interface TextFormat {
  readonly label: Message;
  readonly suffix: string;
  readonly matches: (text: string) => boolean;
}

const textFormats: readonly TextFormat[] = [
  {
    label: msg`HTML`,
    suffix: '.html',
    matches: (text) => /^\s*(?:<!doctype html|<html|<head|<body|<table)\b/i.test(text),
  },
  { label: msg`XML`, suffix: '.xml', matches: (text) => /^\s*<\?xml\b/.test(text) },
  {
    label: msg`JSON`,
    suffix: '.json',
    matches: (text) => /^\s*(?:\{\s*(?:"|\})|\[\s*(?:[\]{["\d-]|true|false|null))/.test(text),
  },
  { label: msg`a table of separated values (CSV)`, suffix: '.csv', matches: readsAsTable },
  { label: msg`plain text`, suffix: '.txt', matches: () => true },
];

/** Throws Refusal for a text whose name is that of a binary format. */
export function refuseMisnamedText(text: string, name: string): void {
  const format = formatOf.get(suffixOf(name));
  if (format === undefined || text.trim() === '') return;
  const textFormat = textFormats.find(({ matches }) => matches(text));
  throw new Refusal(
    msg`This is not ${format}; it looks like ${textFormat?.label ?? ''}. Delete the document and upload the real file, or upload this one with a name that ends in ${textFormat?.suffix ?? ''}.`,
  );
}

/** The refusal of binary data of an unknown format, which names the format that the name promises. */
export function refusalOfBinary(refusal: Refusal, name: string): Refusal {
  const format = formatOf.get(suffixOf(name));
  if (format === undefined) return refusal;
  return new Refusal(
    msg`This is not ${format}, or it is damaged: it looks like binary data of an unknown format. Open the file, save it again and upload the result.`,
  );
}
