/** What an MP4 file with one H.264 track consists of. */
interface Film {
  width: number;
  height: number;
  framesPerSecond: number;
  sequenceParameters: Buffer;
  pictureParameters: Buffer;
  pictures: readonly Buffer[];
}

const LENGTH_BYTES = 4;
const ENABLED_IN_FILM = 3;
const DATA_IN_THIS_FILE = 1;
const UNITY_MATRIX = numbers(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

/** Encodes an MP4 file whose index comes first, so that players can start before the end. */
export function encodeMp4(film: Film): Buffer {
  const brand = box('ftyp', text('isom'), numbers(0x200), text('isomiso2avc1mp41'));
  const samples = film.pictures.map((unit) => Buffer.concat([numbers(unit.length), unit]));
  const data = box('mdat', ...samples);
  // The index holds the position of the data, which depends on the length of the index itself.
  const dataAt = brand.length + index(film, 0).length + LENGTH_BYTES * 2;
  return Buffer.concat([brand, index(film, dataAt), data]);
}

function index(film: Film, dataAt: number): Buffer {
  const frames = film.pictures.length;
  const { framesPerSecond: scale } = film;
  const movieHeader = full(
    'mvhd',
    0,
    numbers(0, 0, scale, frames, 0x10000, 0x1000000, 0, 0),
    UNITY_MATRIX,
    numbers(0, 0, 0, 0, 0, 0, 2),
  );
  const trackHeader = full(
    'tkhd',
    ENABLED_IN_FILM,
    numbers(0, 0, 1, 0, frames, 0, 0, 0, 0),
    UNITY_MATRIX,
    numbers(film.width << 16, film.height << 16),
  );
  const media = box(
    'mdia',
    full('mdhd', 0, numbers(0, 0, scale, frames, 0x55c40000)),
    full('hdlr', 0, numbers(0), text('vide'), numbers(0, 0, 0), text('video\0')),
    box('minf', full('vmhd', 1, numbers(0, 0)), dataInformation(), sampleTable(film, dataAt)),
  );
  return box('moov', movieHeader, box('trak', trackHeader, media));
}

function dataInformation(): Buffer {
  return box('dinf', full('dref', 0, numbers(1), full('url ', DATA_IN_THIS_FILE)));
}

function sampleTable(film: Film, dataAt: number): Buffer {
  const sizes = film.pictures.map((unit) => unit.length + LENGTH_BYTES);
  return box(
    'stbl',
    full('stsd', 0, numbers(1), sampleEntry(film)),
    full('stts', 0, numbers(1, sizes.length, 1)),
    full('stsc', 0, numbers(1, 1, sizes.length, 1)),
    full('stsz', 0, numbers(0, sizes.length, ...sizes)),
    full('stco', 0, numbers(1, dataAt)),
  );
}

function sampleEntry(film: Film): Buffer {
  const { sequenceParameters: sps, pictureParameters: pps } = film;
  const configuration = box(
    'avcC',
    Buffer.from([1, ...sps.subarray(1, 4), 0xff, 0xe1]),
    short(sps.length),
    sps,
    Buffer.from([1]),
    short(pps.length),
    pps,
  );
  return box(
    'avc1',
    numbers(0, 1, 0, 0, 0, 0),
    short(film.width),
    short(film.height),
    numbers(0x480000, 0x480000, 0), // 72 dots an inch
    short(1), // frames a sample
    Buffer.alloc(32), // name of the encoder
    numbers(0x0018ffff), // 24 bits a pixel, no colour table
    configuration,
  );
}

/** A box that starts with version 0 and flags. */
function full(type: string, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, numbers(flags), ...parts);
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([numbers(body.length + 8), text(type), body]);
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => bytes.writeUInt32BE(value, at * 4));
  return bytes;
}

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.from(value, 'latin1');
}
