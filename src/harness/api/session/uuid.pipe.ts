import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { NotFoundError } from '../../../platform/error/index.js';
import { RunNotFoundError, SessionNotFoundError } from '../../store/errors.js';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Reads a UUID out of a path, in lower case. Any other text names nothing, and is answered like an unknown id. */
@Injectable()
export class UuidPipe implements PipeTransform<string, string> {
  transform(value: string, { data: parameter }: ArgumentMetadata): string {
    const id = value.toLowerCase();
    if (!UUID.test(id)) throw unknown(value, parameter);
    return id;
  }
}

function unknown(value: string, parameter: string | undefined): NotFoundError {
  if (parameter === 'sessionId') return new SessionNotFoundError();
  if (parameter === 'runId') return new RunNotFoundError();
  return new NotFoundError(`What the path names as ${value.slice(0, 100)}`);
}
