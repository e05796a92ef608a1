import { msg } from '../../../platform/message/index.js';
import { passwordProtected } from './document-package.js';
import { Refusal } from './document-source.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { readSlides } from './slides.js';
import type { SlideText } from './slides.js';
import type { Piece } from './structure-writer.js';
import { storable } from './text/text-encoding.js';

/** Types of records [MS-PPT, 2.13.24]. */
const DOCUMENT = 0x03e8;
const SLIDE = 0x03ee;
const NOTES = 0x03f0;
const NOTES_ATOM = 0x03f1;
const SLIDE_PERSIST = 0x03f3;
const SLIDE_LIST = 0x0ff0;
const TEXT_HEADER = 0x0f9f;
const TEXT_CHARS = 0x0fa0;
const TEXT_BYTES = 0x0fa8;
const USER_EDIT = 0x0ff5;
const PERSIST_DIRECTORY = 0x1772;
const CLIENT_TEXT_BOX = 0xf00d;
const ENCRYPTED_TOKEN = 0xf3d1c4df;

/** Text types of slide titles (TextHeaderAtom). */
const TITLES: readonly number[] = [0, 6];
const NOTES_TEXT = 2;

/** Instances of the lists of slides: those of slides, of masters and of notes. */
const LIST_OF_SLIDES = 0;
const LIST_OF_NOTES = 2;

const HEADER_BYTES = 8;
const MAX_DEPTH = 40;
const MAX_EDITS = 10_000;

/** Line ends within a paragraph, and the places of slide numbers and dates. */
const LINE = /\v/g;
const FIELDS = /^[*\s]*$/;

interface PptRecord {
  readonly type: number;
  readonly instance: number;
  readonly isContainer: boolean;
  readonly body: Buffer;
}

interface Text {
  readonly kind: number;
  readonly text: string;
}

interface Slide {
  readonly texts: Text[];
  readonly notes: string[];
}

/**
 * The slides of a PowerPoint 97 to 2003 presentation as pages: title, text, cells of tables and speaker notes. Its records
 * are read as [MS-PPT] has them: no library of the registry does.
 */
export async function readPpt(
  stream: Buffer,
  currentUser: Buffer,
  limits: ReadLimits,
): Promise<ReadDocument> {
  if (currentUser.length >= 16 && currentUser.readUInt32LE(12) === ENCRYPTED_TOKEN) {
    throw passwordProtected();
  }
  const places = persistedPlaces(stream, currentUser);
  const slides = slidesOf(stream, places);
  return readSlides(slides, limits, textOf);
}

function textOf({ texts, notes }: Slide): SlideText {
  const titles = texts.filter(({ kind }) => TITLES.includes(kind)).map(({ text }) => text);
  const rest = texts.filter(({ kind }) => !TITLES.includes(kind));
  return {
    title: titles.join(' ').replace(/\s+/g, ' ').trim(),
    pieces: rest.map(({ text }) => paragraph(text)),
    notes: notes.map((text) => paragraph(text)),
  };
}

function paragraph(text: string): Piece {
  return { type: 'paragraph', text };
}

/** Records one after the other; a length beyond the end is that of a damaged file. */
function* recordsIn(bytes: Buffer): Generator<PptRecord> {
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const record = recordAt(bytes, at);
    if (!record) return;
    yield record;
    at += HEADER_BYTES + record.body.length;
  }
}

function recordAt(bytes: Buffer, at: number): PptRecord | undefined {
  if (at < 0 || at + HEADER_BYTES > bytes.length) return undefined;
  const head = bytes.readUInt16LE(at);
  const length = bytes.readUInt32LE(at + 4);
  return {
    type: bytes.readUInt16LE(at + 2),
    instance: head >> 4,
    isContainer: (head & 0x0f) === 0x0f,
    body: bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length),
  };
}

/** Offsets of the objects: from the last save, and from earlier ones for unchanged objects [MS-PPT, 2.1.2]. */
function persistedPlaces(stream: Buffer, currentUser: Buffer): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  let edit = currentUser.length >= 20 ? currentUser.readUInt32LE(16) : 0;
  const visitedOffsets = new Set<number>();
  while (edit !== 0 && !visitedOffsets.has(edit) && visitedOffsets.size < MAX_EDITS) {
    visitedOffsets.add(edit);
    const record = recordAt(stream, edit);
    if (record?.type !== USER_EDIT || record.body.length < 16) break;
    const directory = recordAt(stream, record.body.readUInt32LE(12));
    if (directory?.type === PERSIST_DIRECTORY) addPlaces(directory.body, places);
    edit = record.body.readUInt32LE(8);
  }
  return places;
}

function addPlaces(body: Buffer, places: Map<number, number>): void {
  for (let at = 0; at + 4 <= body.length;) {
    const entry = body.readUInt32LE(at);
    const [first, count] = [entry & 0xfffff, entry >>> 20];
    at += 4;
    for (let index = 0; index < count && at + 4 <= body.length; index += 1) {
      if (!places.has(first + index)) places.set(first + index, body.readUInt32LE(at));
      at += 4;
    }
  }
}

function slidesOf(stream: Buffer, places: ReadonlyMap<number, number>): Slide[] {
  const document = documentIn(stream, places);
  if (!document) {
    throw new Refusal(
      msg`The presentation has no list of its slides; it is damaged. Open it, save it again and upload the result.`,
    );
  }
  const notes = notesBySlide(stream, places, document);
  const slides: Slide[] = [];
  for (const { id, place, texts } of listed(document, LIST_OF_SLIDES, places)) {
    const container = place === undefined ? undefined : recordAt(stream, place);
    const slideTexts = container?.type === SLIDE ? textsIn(container.body) : [];
    slides.push({ texts: [...texts, ...slideTexts], notes: notes.get(id) ?? [] });
  }
  return slides;
}

function documentIn(stream: Buffer, places: ReadonlyMap<number, number>): Buffer | undefined {
  for (const place of places.values()) {
    const record = recordAt(stream, place);
    if (record?.type === DOCUMENT) return record.body;
  }
  // Files without a directory: the last document is the newest.
  let lastDocument: Buffer | undefined;
  for (const { type, body } of recordsIn(stream)) if (type === DOCUMENT) lastDocument = body;
  return lastDocument;
}

interface ListedSlide {
  readonly id: number;
  readonly place: number | undefined;
  /** Texts of its title and outline, which stand in the list. */
  readonly texts: Text[];
}

function listed(
  document: Buffer,
  instance: number,
  places: ReadonlyMap<number, number>,
): ListedSlide[] {
  const slides: ListedSlide[] = [];
  for (const list of recordsIn(document)) {
    if (list.type !== SLIDE_LIST || list.instance !== instance) continue;
    let kind = 0;
    for (const { type, body } of recordsIn(list.body)) {
      if (type === SLIDE_PERSIST && body.length >= 16) {
        const place = places.get(body.readUInt32LE(0));
        slides.push({ id: body.readUInt32LE(12), place, texts: [] });
      } else if (type === TEXT_HEADER) kind = kindIn(body);
      else slides.at(-1)?.texts.push(...textsOf(type, kind, body));
    }
  }
  return slides;
}

/** Notes name their slide. */
function notesBySlide(
  stream: Buffer,
  places: ReadonlyMap<number, number>,
  document: Buffer,
): ReadonlyMap<number, string[]> {
  const notes = new Map<number, string[]>();
  for (const { place, texts } of listed(document, LIST_OF_NOTES, places)) {
    const container = place === undefined ? undefined : recordAt(stream, place);
    if (container?.type !== NOTES) continue;
    const atom = [...recordsIn(container.body)].find(({ type }) => type === NOTES_ATOM);
    if (!atom || atom.body.length < 4) continue;
    const noteTexts = [...texts, ...textsIn(container.body)]
      .filter(({ kind }) => kind === NOTES_TEXT)
      .map(({ text }) => text);
    notes.set(atom.body.readUInt32LE(0), noteTexts);
  }
  return notes;
}

/** The texts of the shapes in a slide, in the order of the file. */
function textsIn(bytes: Buffer, depth = 0): Text[] {
  if (depth > MAX_DEPTH) return [];
  const texts: Text[] = [];
  let kind = 0;
  for (const { type, isContainer, body } of recordsIn(bytes)) {
    if (type === TEXT_HEADER) kind = kindIn(body);
    else if (isContainer || type === CLIENT_TEXT_BOX) texts.push(...textsIn(body, depth + 1));
    else texts.push(...textsOf(type, kind, body));
  }
  return texts;
}

function kindIn(body: Buffer): number {
  return body.length >= 4 ? body.readUInt32LE(0) : 0;
}

function textsOf(type: number, kind: number, body: Buffer): Text[] {
  if (type !== TEXT_CHARS && type !== TEXT_BYTES) return [];
  const raw = body.toString(type === TEXT_CHARS ? 'utf16le' : 'latin1').replace(LINE, '\n');
  return raw
    .split('\r')
    .map((text) => ({ kind, text: storable(text).trim() }))
    .filter(({ text }) => !FIELDS.test(text));
}
