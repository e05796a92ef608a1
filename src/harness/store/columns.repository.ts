import type { Type } from '@nestjs/common';
import { getMetadataArgsStorage } from 'typeorm';
import { storableJson as jsonOf } from '../../platform/database/index.js';
import { yieldingChunks } from '../protocol/yielding-chunks.js';

/** Text that PostgreSQL can hold: it has neither NUL nor half a character. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** The value as JSON text whose strings and names jsonb can hold. */
export function storableJson(value: unknown): string {
  return jsonOf(value, storableText);
}

/** A list as `storableJson`, made in pieces, so that a long one does not block the process. */
export async function storableList(list: readonly unknown[]): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of yieldingChunks(list)) pieces.push(storableJson(piece).slice(1, -1));
  return `[${pieces.join(',')}]`;
}

/** The columns of an entity's table for a SELECT or RETURNING, each under the name of its property. */
export function columnsOf(entity: Type, alias?: string, without: readonly string[] = []): string {
  const table = alias === undefined ? '' : `${alias}.`;
  return getMetadataArgsStorage()
    .filterColumns(entity)
    .filter(({ propertyName }) => !without.includes(propertyName))
    .map(({ propertyName: name }) => `${table}${columnOf(name)} AS "${name}"`)
    .join(', ');
}

/** Column name of a property. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * INSERT parts of a record: its columns and parameters, as `(a, b) VALUES ($1, $2)`, and their values. Every field
 * of the record is a column.
 */
export function insertionOf(record: object): {
  readonly fields: string;
  readonly values: readonly unknown[];
} {
  const columns = Object.keys(record).map(columnOf);
  const parameters = columns.map((_, index) => `$${index + 1}`);
  return {
    fields: `(${columns.join(', ')}) VALUES (${parameters.join(', ')})`,
    values: Object.values(record),
  };
}
