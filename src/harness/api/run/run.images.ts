import { InvalidInputError } from '../../../platform/error/index.js';
import { typeOf } from '../../../platform/storage/index.js';

export const IMAGE_DETAILS = ['auto', 'low', 'original', 'high', 'xhigh'] as const;
type ImageDetail = (typeof IMAGE_DETAILS)[number];

export const MOST_IMAGES = 5;
/** Of all images of a run together, decoded. */
export const MOST_IMAGE_BYTES = 8 * 1024 * 1024;
/** The longest data URL that may hold so much. */
export const LONGEST_DATA_URL = Math.ceil(MOST_IMAGE_BYTES / 3) * 4 + 100;

const OPENING = /^data:(image\/(?:png|jpeg|gif|webp));base64,/;
/** Searched for, not matched as a whole: a match of megabytes keeps a place to go back to for each character. */
const NOT_BASE64 = /[^A-Za-z\d+/]/;

export interface RunImage {
  readonly mediaType: string;
  readonly bytes: Buffer;
  readonly detail: ImageDetail;
}

class ImageRefusedError extends InvalidInputError {
  constructor(errorCode: 'IMAGE_INVALID' | 'TOO_LARGE', message: string) {
    super(message, { data: { errorCode } });
  }
}

/** The images of a requirement, decoded; an error where one is no such image, or all together are too large. */
export function readImages(
  images: readonly { readonly dataUrl: string; readonly detail?: ImageDetail }[],
): RunImage[] {
  const read = images.map(({ dataUrl, detail = 'auto' }, index) => ({
    ...decoded(dataUrl, index),
    detail,
  }));
  const total = read.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (total > MOST_IMAGE_BYTES) {
    throw new ImageRefusedError(
      'TOO_LARGE',
      `The images have ${total} bytes together, and may have ${MOST_IMAGE_BYTES}. Send fewer or smaller ones.`,
    );
  }
  return read;
}

function decoded(dataUrl: string, index: number): Pick<RunImage, 'mediaType' | 'bytes'> {
  const [opening = '', mediaType] = OPENING.exec(dataUrl) ?? [];
  const base64 = dataUrl.slice(opening.length);
  const digits = base64.replace(/={1,2}$/, '');
  if (mediaType === undefined || digits === '' || NOT_BASE64.test(digits)) {
    throw refused(
      index,
      'must be a base64 data URL of image/png, image/jpeg, image/gif or image/webp',
    );
  }
  const bytes = Buffer.from(base64, 'base64');
  // A text that decodes to something else than it says is cut or damaged.
  if (bytes.toString('base64') !== base64) throw refused(index, 'is not base64 throughout');
  const found = typeOf(bytes, '');
  if (found !== mediaType) throw refused(index, `says ${mediaType}, but holds ${found}`);
  return { mediaType, bytes };
}

function refused(index: number, problem: string): ImageRefusedError {
  return new ImageRefusedError('IMAGE_INVALID', `images[${index}].dataUrl ${problem}.`);
}
