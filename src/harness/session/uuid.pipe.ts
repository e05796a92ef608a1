import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { NotFoundError } from '../../error/index.js';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Reads a UUID out of a path, in lower case. Any other text names nothing, and is answered like an unknown id. */
@Injectable()
export class UuidPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    const id = value.toLowerCase();
    if (!UUID.test(id)) throw new NotFoundError(`What the path names as ${value.slice(0, 100)}`);
    return id;
  }
}
