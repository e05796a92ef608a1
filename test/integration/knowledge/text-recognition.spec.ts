import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCanvas, loadImage } from '@napi-rs/canvas';
import type {
  PageImage,
  PageRecognition,
  RecognisedPage,
} from '../../../src/attach/parser/index.js';
import { TesseractRecognition } from '../../../src/attach/recognition/text-recognition.js';
import { TestParser } from '../../support/documents/parsing.js';
import { pdfOf, scannedPdf } from '../../support/documents/pdf.js';

const SIDE = 300;

let parser: TestParser;

beforeAll(async () => {
  parser = await TestParser.start();
});

afterAll(async () => {
  await parser[Symbol.asyncDispose]();
});

function picture(color: string, type: 'jpeg' | 'png' | 'webp' = 'jpeg', side = 40): Buffer {
  const canvas = createCanvas(side, side);
  const context = canvas.getContext('2d');
  context.fillStyle = color;
  context.fillRect(0, 0, side, side);
  if (type === 'png') return canvas.toBuffer('image/png');
  return type === 'webp' ? canvas.toBuffer('image/webp') : canvas.toBuffer('image/jpeg');
}

const page = (color: string) => ({ image: picture(color), size: [40, 40] as const });

/** Width, height and the colour in the middle. */
async function look({ bytes }: PageImage): Promise<readonly [number, number, number[]]> {
  const image = await loadImage(Buffer.from(bytes));
  const canvas = createCanvas(image.width, image.height);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const middle = context.getImageData(image.width >> 1, image.height >> 1, 1, 1).data;
  return [image.width, image.height, [...middle].slice(0, 3)];
}

/** A recognition that answers the texts of the pages, and notes what it was asked. */
function recognitionOf(texts: Readonly<Record<number, string>>, known: readonly number[] = []) {
  const asked: number[] = [];
  const images: PageImage[] = [];
  const textOf = (number: number): RecognisedPage => ({
    format: 'markdown',
    text: texts[number] ?? '',
  });
  const recognition: PageRecognition = {
    longestSide: SIDE,
    begin: (pages) => {
      asked.push(...pages);
      return Promise.resolve(new Map(known.map((number) => [number, textOf(number)] as const)));
    },
    read: (some) => {
      images.push(...some);
      return Promise.resolve(some.map(({ page: number }) => [number, textOf(number)] as const));
    },
  };
  return { recognition, asked, images };
}

describe('a scanned PDF', () => {
  it('names the switch where text recognition is off', async () => {
    const reason = await parser.reason('a.pdf', scannedPdf([page('#f00')]));
    expect(reason).toMatch(/scanned images.*Switch on text recognition \(enableOcr\)/);
  });

  it('has the recognised text of its images among the text of other pages', async () => {
    const table = '| Part | Price |\n| --- | --- |\n| Bolt | 3 |\n| Nut \\| ring | 4 |';
    const { recognition, asked, images } = recognitionOf({
      1: '```markdown\n# Invoice 17\n\nFrom the works.\n```',
      4: table,
    });
    const bytes = scannedPdf([page('#f00'), { text: 'A typed page.' }, {}, page('#00f')]);
    const parsed = await parser.parse('mixed.pdf', bytes, {
      recognition,
      settings: { textBlockSize: 60, overlapChar: 0, separator: '' },
    });
    // The empty page costs nothing.
    expect(asked).toEqual([1, 4]);
    expect(await Promise.all(images.map(look))).toEqual([
      [212, SIDE, [254, 0, 0]],
      [212, SIDE, [0, 0, 254]],
    ]);
    expect(parsed.pages).toBe(4);
    const found = parsed.fragments.map(({ content, page: number }) => [number, content]);
    expect(found).toEqual([
      [1, 'Invoice 17\n\nFrom the works.\n\nA typed page.'],
      [4, 'Part | Price\nBolt | 3\nNut | ring | 4'],
    ]);
    expect(parsed.fragments[0]?.headings).toEqual(['Invoice 17']);
  });

  it('is rendered in parts, and not where pages are known', async () => {
    const texts = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [n + 1, `Page ${n + 1}`]),
    );
    const { recognition, images } = recognitionOf(texts, [2]);
    const sizes: number[] = [];
    const counted: PageRecognition = {
      ...recognition,
      read: (some) => {
        sizes.push(some.length);
        return recognition.read(some);
      },
    };
    const bytes = scannedPdf(Array.from({ length: 10 }, () => page('#0f0')));
    const { fragments } = await parser.parse('long.pdf', bytes, { recognition: counted });
    expect(sizes).toEqual([8, 1]);
    expect(images.map((image) => image.page)).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(fragments.map(({ content }) => content).join(' ')).toMatch(
      /Page 1\b.*Page 2\b.*Page 10/s,
    );
  });

  it.each([
    [
      'more pages than are read',
      Array.from({ length: 501 }, () => page('#0f0')),
      /501 of 501 .* is 500\./,
    ],
    ['nothing that can be read', [page('#0f0')], /found no text on any page/],
    [
      'a compression that is not decoded',
      [{ image: Buffer.from('001001', 'hex'), filter: 'CCITTFaxDecode', size: [8, 8] as const }],
      /page 1 is compressed as JBIG2, CCITT fax or JPEG 2000/,
    ],
  ])('says what to do about %s', async (_, pages, reason) => {
    const { recognition } = recognitionOf({});
    expect(await parser.reason('a.pdf', scannedPdf(pages), { recognition })).toMatch(reason);
  });

  it('of text costs no recognition', async () => {
    const { recognition, asked } = recognitionOf({});
    await parser.parse('typed.pdf', pdfOf(['Typed.', '']), { recognition });
    expect(asked).toEqual([]);
  });

  it('leaves no file behind when its recognition fails', async () => {
    const { recognition } = recognitionOf({});
    const failing: PageRecognition = {
      ...recognition,
      read: () => Promise.reject(new Error('away')),
    };
    const bytes = scannedPdf([page('#0f0')]);
    await expect(parser.parse('a.pdf', bytes, { recognition: failing })).rejects.toThrow('away');
    expect(await parser.spooled()).toEqual([]);
  });
});

describe('an image file', () => {
  it.each(['png', 'jpeg', 'webp'] as const)(
    'of type %s is a document of one page',
    async (type) => {
      const { recognition, images } = recognitionOf({ 1: 'A sign at the door.' });
      const bytes = picture('#00f', type, 900);
      const { fragments, pages } = await parser.parse('photo.bin', bytes, { recognition });
      expect([pages, fragments.map(({ content }) => content)]).toEqual([
        1,
        ['A sign at the door.'],
      ]);
      const [width, height] = await look(images[0] ?? { page: 0, bytes: Buffer.alloc(0) });
      expect([width, height]).toEqual([SIDE, SIDE]);
    },
  );

  it('names the switch where text recognition is off', async () => {
    const reason = await parser.reason('sign.png', picture('#00f', 'png'));
    expect(reason).toMatch(/^An image holds no text .* \(enableOcr\)/);
  });

  it('that is damaged is refused with a reason', async () => {
    const { recognition } = recognitionOf({ 1: 'Nothing.' });
    const bytes = picture('#00f', 'png').subarray(0, 40);
    expect(await parser.reason('cut.png', bytes, { recognition })).toMatch(/damaged/);
  });
});

describe('tesseract', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-tesseract-'));
  const image = { page: 3, bytes: Buffer.from('an image') };
  const never = new AbortController().signal;

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function program(script: string, timeoutSeconds = 60): TesseractRecognition {
    const path = join(folder, `tesseract-${Math.random()}`);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o700);
    return new TesseractRecognition({ program: path, languages: 'eng+deu', timeoutSeconds });
  }

  it('reads the image that it is given, in the languages of the configuration', async () => {
    const recognition = program('echo "$@"; cat; env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= | sort');
    expect(await recognition.read(image, never)).toEqual({
      text: 'stdin stdout -l eng+deu\nan imageOMP_THREAD_LIMIT=1\nPATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin\n',
      inputTokens: 0,
      outputTokens: 0,
    });
  });

  it('says what to do when it is missing, fails or takes too long', async () => {
    const missing = new TesseractRecognition({
      program: join(folder, 'none'),
      languages: 'eng',
      timeoutSeconds: 60,
    });
    await expect(missing.read(image, never)).rejects.toThrow(/not installed .* ocrModel/);
    const failing = program('echo "Failed loading language deu" >&2; exit 1');
    await expect(failing.read(image, never)).rejects.toThrow(
      /page 3: Failed loading language deu\. .*OCR_LANGUAGES/,
    );
    const slow = program('exec sleep 600', 1);
    await expect(slow.read(image, never)).rejects.toThrow(/longer than 1 s, which is the limit/);
  });

  it('ends when the signal aborts', async () => {
    const leaving = new AbortController();
    const reading = program('exec sleep 600').read(image, leaving.signal);
    leaving.abort(new Error('cancelled'));
    await expect(reading).rejects.toThrow('cancelled');
  });
});
