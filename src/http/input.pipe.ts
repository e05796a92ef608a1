import { ValidationPipe } from '@nestjs/common';
import type { ArgumentMetadata } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { InvalidInputError } from '../error/index.js';

class InputPipe extends ValidationPipe {
  /** Numbers in a path are read by IdPipe from what was sent: Nest would already hand it NaN for "abc". */
  protected override transformPrimitive(value: unknown, metadata: ArgumentMetadata): unknown {
    return metadata.metatype === Number ? value : super.transformPrimitive(value, metadata);
  }
}

/** Checks bodies and queries against their DTO; unknown fields are dropped, all problems are named at once. */
export function inputPipe(): ValidationPipe {
  return new InputPipe({
    whitelist: true,
    transform: true,
    transformOptions: { exposeUnsetFields: false },
    stopAtFirstError: true,
    exceptionFactory: (errors) => new InvalidInputError(messages(errors).join(', ')),
  });
}

function messages(errors: readonly ValidationError[], path = ''): string[] {
  return errors.flatMap((error) => [
    ...Object.values(error.constraints ?? {}).map((message) => `${path}${message}`),
    ...messages(error.children ?? [], `${path}${error.property}.`),
  ]);
}
