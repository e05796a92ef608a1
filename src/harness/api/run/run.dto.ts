import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, IsOptional } from 'class-validator';
import type { Config } from '../../../platform/config/index.js';
import { InvalidInputError } from '../../../platform/error/index.js';
import { Input, Nested, OneOf, StrictFields, Text, Whole } from '../../../platform/http/index.js';
import { typeOf } from '../../../platform/storage/index.js';
import type { Message, Phrase } from '../../../platform/message/index.js';
import { msg, phrase } from '../../../platform/message/index.js';
import { PERMISSION_MODES } from '../../protocol/policy.js';
import { INPUT_KINDS } from '../../protocol/run.state.js';
import type { RunBudget } from '../../protocol/run.state.js';
import { MAX_KEY_CHARS } from '../identifiers.js';

/** Maximum length of a requirement or input. */
export const MAX_REQUIREMENT_CHARS = 200_000;

const IMAGE_DETAILS = ['auto', 'low', 'original', 'high', 'xhigh'] as const;
type ImageDetail = (typeof IMAGE_DETAILS)[number];

export const MAX_IMAGES = 5;
/** Maximum decoded size of all images of a run together. */
export const MAX_IMAGE_BYTES = 8 * 1024 * 1024;
/** Length of the longest data URL of an image within the limit. */
const MAX_DATA_URL_CHARS = Math.ceil(MAX_IMAGE_BYTES / 3) * 4 + 100;

/** Limits of the inputs that wait for a run. */
export const MAX_PENDING_INPUTS = 64;
export const MAX_PENDING_BYTES = 1024 * 1024;

const MINUTE_MS = 60_000;

const KEY = { max: MAX_KEY_CHARS, description: 'The same key with the same body is the same run' };

export class RunImageBody extends Input({
  dataUrl: Text({
    max: MAX_DATA_URL_CHARS,
    description: 'PNG, JPEG, GIF or WebP as a base64 data URL',
    example: 'data:image/png;base64,iVBORw0KGgo=',
  }),
  detail: OneOf(IMAGE_DETAILS, { optional: true, description: 'auto when not given' }),
}) {}

/** 0, or what is not given, is the server's limit; more than that is cut to it. */
export class RunBudgetBody extends Input({
  maxIterations: Whole({ optional: true, min: 0, description: 'Turns of the model' }),
  maxToolCalls: Whole({ optional: true, min: 0 }),
  maxInputTokens: Whole({ optional: true, min: 0 }),
  maxOutputTokens: Whole({ optional: true, min: 0 }),
  maxWallTimeMillis: Whole({
    optional: true,
    min: 0,
    description: 'Time at work; waiting does not count',
  }),
}) {}

/** Null means "not given", as for every other field. */
const NullIsNone = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => value ?? undefined);

function Images(): PropertyDecorator {
  return applyDecorators(
    NullIsNone(),
    ApiProperty({ type: [RunImageBody], required: false, description: '8 MiB in all at most' }),
    IsOptional(),
    IsArray({ message: msg`images must be a list` }),
    ArrayMaxSize(MAX_IMAGES, { message: msg`images has more than ${MAX_IMAGES} entries` }),
    Nested(() => RunImageBody, {
      each: true,
      message: msg`each entry of images must be an object`,
    }),
  );
}

function Budget(): PropertyDecorator {
  return applyDecorators(
    NullIsNone(),
    ApiProperty({ type: RunBudgetBody, required: false }),
    IsOptional(),
    IsObject({ message: msg`budget must be an object` }),
    Nested(() => RunBudgetBody, { message: msg`budget must be an object` }),
  );
}

@StrictFields()
export class CreateRunBody extends Input({
  requirement: Text({
    max: MAX_REQUIREMENT_CHARS,
    description: 'What is to be done',
    example: 'Fix add()',
  }),
  idempotencyKey: Text(KEY),
  model: Text({
    optional: true,
    max: 200,
    description: "modelName of a chat model that can call tools; the session's when not given",
    example: 'gpt-4o-mini',
  }),
  permissionMode: OneOf(PERMISSION_MODES, {
    optional: true,
    description: "Not more than the session's permissionMode, which counts when not given",
  }),
}) {
  @Images()
  images?: RunImageBody[];

  @Budget()
  budget?: RunBudgetBody;
}

export class RunListQuery extends Input({
  pageNum: Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' }),
  pageSize: Whole({ optional: true, min: 1, max: 200, description: 'Runs a page; 100 by default' }),
}) {}

@StrictFields()
export class RunInputBody extends Input({
  kind: OneOf(INPUT_KINDS, {
    description: 'STEER is taken in at the next step, FOLLOW_UP when the run would end',
  }),
  content: Text({ max: MAX_REQUIREMENT_CHARS }),
  idempotencyKey: Text({
    ...KEY,
    description: 'The same key with the same body is the same input',
  }),
}) {}

/** Maximum budget of any run on this server. */
export function serverBudget(config: Config): RunBudget {
  return {
    maxIterations: config.HARNESS_MAX_STEPS,
    maxToolCalls: 400,
    maxInputTokens: 1_000_000,
    maxOutputTokens: 200_000,
    maxWallTimeMillis: 60 * MINUTE_MS,
  };
}

/** The budget of a run: 0 and absent values mean the server's limit, and larger ones are cut to it. */
export function budgetOf(wanted: Partial<RunBudget>, limits: RunBudget): RunBudget {
  const within = (field: keyof RunBudget): number =>
    Math.min(wanted[field] || limits[field], limits[field]);
  return {
    maxIterations: within('maxIterations'),
    maxToolCalls: within('maxToolCalls'),
    maxInputTokens: within('maxInputTokens'),
    maxOutputTokens: within('maxOutputTokens'),
    maxWallTimeMillis: within('maxWallTimeMillis'),
  };
}

const OPENING = /^data:(image\/(?:png|jpeg|gif|webp));base64,/;
/** Searched for, because matching a text of megabytes as a whole would need a backtracking position per character. */
const NOT_BASE64 = /[^A-Za-z\d+/]/;

export interface RunImage {
  readonly mediaType: string;
  readonly bytes: Buffer;
  readonly detail: ImageDetail;
}

class ImageRefusedError extends InvalidInputError {
  constructor(errorCode: 'IMAGE_INVALID' | 'TOO_LARGE', message: Message) {
    super(message, { data: { errorCode } });
  }
}

/** The images of a requirement, decoded; an error where one is no such image, or all together are too large. */
export function readImages(images: readonly RunImageBody[]): RunImage[] {
  const read = images.map(({ dataUrl, detail = 'auto' }, index) => ({
    ...decoded(dataUrl, index),
    detail,
  }));
  const total = read.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (total > MAX_IMAGE_BYTES) {
    throw new ImageRefusedError(
      'TOO_LARGE',
      msg`The images have ${total} bytes together, and may have ${MAX_IMAGE_BYTES}. Send fewer or smaller ones.`,
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
      phrase`must be a base64 data URL of image/png, image/jpeg, image/gif or image/webp`,
    );
  }
  const bytes = Buffer.from(base64, 'base64');
  // A text that decodes to something else than it says is cut or damaged.
  if (bytes.toString('base64') !== base64) throw refused(index, phrase`is not base64 throughout`);
  const actualType = typeOf(bytes, '');
  if (actualType !== mediaType)
    throw refused(index, phrase`says ${mediaType}, but holds ${actualType}`);
  return { mediaType, bytes };
}

function refused(index: number, problem: Phrase): ImageRefusedError {
  return new ImageRefusedError('IMAGE_INVALID', msg`images[${index}].dataUrl ${problem}.`);
}
