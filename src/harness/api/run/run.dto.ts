import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, IsOptional, ValidateNested } from 'class-validator';
import { OneOf, Text, Whole } from '../../../platform/http/index.js';
import { LONGEST_KEY } from '../session/session.dto.js';
import { INPUT_KINDS } from '../../protocol/run.values.js';
import { IMAGE_DETAILS, LONGEST_DATA_URL, MOST_IMAGES } from './run.images.js';

/** Longest text that a user may say at once, in characters. */
export const LONGEST_REQUIREMENT = 200_000;

const KEY = { max: LONGEST_KEY, description: 'The same key with the same body is the same run' };

export class RunImageBody {
  @Text({
    max: LONGEST_DATA_URL,
    description: 'PNG, JPEG, GIF or WebP as a base64 data URL',
    example: 'data:image/png;base64,iVBORw0KGgo=',
  })
  dataUrl: string;

  @OneOf(IMAGE_DETAILS, { optional: true, description: 'auto when not given' })
  detail?: (typeof IMAGE_DETAILS)[number];
}

/** 0, or what is not given, is the server's limit; more than that is cut to it. */
export class RunBudgetBody {
  @Whole({ optional: true, min: 0, description: 'Turns of the model' })
  maxIterations?: number;

  @Whole({ optional: true, min: 0 })
  maxToolCalls?: number;

  @Whole({ optional: true, min: 0 })
  maxInputTokens?: number;

  @Whole({ optional: true, min: 0 })
  maxOutputTokens?: number;

  @Whole({ optional: true, min: 0, description: 'Time at work; waiting does not count' })
  maxWallTimeMillis?: number;
}

/** Null is "not given", as for every other field. */
const NullIsNone = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => value ?? undefined);

function Images(): PropertyDecorator {
  return applyDecorators(
    NullIsNone(),
    ApiProperty({ type: [RunImageBody], required: false, description: '8 MiB in all at most' }),
    IsOptional(),
    IsArray({ message: 'images must be a list' }),
    ArrayMaxSize(MOST_IMAGES, { message: `images has more than ${MOST_IMAGES} entries` }),
    ValidateNested({ each: true, message: 'each entry of images must be an object' }),
    Type(() => RunImageBody),
  );
}

function Budget(): PropertyDecorator {
  return applyDecorators(
    NullIsNone(),
    ApiProperty({ type: RunBudgetBody, required: false }),
    IsOptional(),
    IsObject({ message: 'budget must be an object' }),
    ValidateNested({ message: 'budget must be an object' }),
    Type(() => RunBudgetBody),
  );
}

export class CreateRunBody {
  @Text({ max: LONGEST_REQUIREMENT, description: 'What is to be done', example: 'Fix add()' })
  requirement: string;

  @Text(KEY)
  idempotencyKey: string;

  @Images()
  images?: RunImageBody[];

  @Budget()
  budget?: RunBudgetBody;
}

export class RunListQuery {
  @Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' })
  pageNum?: number;

  @Whole({ optional: true, min: 1, max: 200, description: 'Runs a page; 100 by default' })
  pageSize?: number;
}

export class RunInputBody {
  @OneOf(INPUT_KINDS, {
    description: 'STEER is taken in at the next step, FOLLOW_UP when the run would end',
  })
  kind: (typeof INPUT_KINDS)[number];

  @Text({ max: LONGEST_REQUIREMENT })
  content: string;

  @Text({ ...KEY, description: 'The same key with the same body is the same input' })
  idempotencyKey: string;
}
