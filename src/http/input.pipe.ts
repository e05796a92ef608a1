import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { InvalidInputError } from '../error/index.js';

/** Checks bodies and queries against their DTO; unknown fields are dropped, all problems are named at once. */
export function inputPipe(): ValidationPipe {
  return new ValidationPipe({
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
