import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { msg } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';

/** Reads one record id from a path. */
@Injectable()
export class IdPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    return readId(value);
  }
}

/** Reads a comma list of record ids from a path, without duplicates. */
@Injectable()
export class IdsPipe implements PipeTransform<string, number[]> {
  transform(value: string): number[] {
    return [...new Set(value.split(',').map((part) => readId(part)))];
  }
}

function readId(value: string): number {
  const id = Number(value);
  if (!/^\d{1,16}$/.test(value) || !Number.isSafeInteger(id)) {
    throw new InvalidInputError(
      msg`"${value.slice(0, 40)}" is not an id. An id is a whole number.`,
    );
  }
  return id;
}
