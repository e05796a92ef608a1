import type { Type } from '@nestjs/common';
import {
  Column,
  CreateDateColumn,
  getMetadataArgsStorage,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
  VersionColumn,
  VirtualColumn,
  type ColumnOptions,
} from 'typeorm';
import { columnName } from './snake-naming.strategy.js';

// The kinds of columns that tables have, by their names in PostgreSQL, so that an entity reads as its table does.
// Migrations create the tables; test/architecture/schema.spec.ts compares both.

/** Allows `NULL`. */
export const nullable: ColumnOptions = { nullable: true };
/** Makes the column part of the primary key. */
export const primary: ColumnOptions = { primary: true };

/** The id that the database gives a new row: a whole number above 0, unless the row brings its own. */
export const GeneratedId = (): PropertyDecorator =>
  PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' });
/** The tenant that owns the row. */
export const TenantId = (options?: ColumnOptions): PropertyDecorator => Varchar(20, options);
/** When the row was inserted, by the clock of the database. */
export const CreateTime = (): PropertyDecorator => CreateDateColumn({ type: 'timestamptz' });
/** When the row was last changed through its repository. */
export const UpdateTime = (): PropertyDecorator => UpdateDateColumn({ type: 'timestamptz' });

/** Counts the changes of the row through its repository, beginning with 1. */
export const Revision = (): PropertyDecorator => VersionColumn({ type: 'integer' });

/** At most `length` characters. */
export const Varchar = (length: number, options?: ColumnOptions): PropertyDecorator =>
  Column({ ...options, type: 'varchar', length });
/** Exactly `length` characters. */
export const Char = (length: number, options?: ColumnOptions): PropertyDecorator =>
  Column({ ...options, type: 'char', length });

/** A value that reading the row derives from other tables, and that is never written; `sql` gets the name of the row. */
export const Derived = (
  type: NonNullable<ColumnOptions['type']>,
  sql: (row: string) => string,
): PropertyDecorator => VirtualColumn(type, { query: sql });

export const Text = ofType('text');
export const Uuid = ofType('uuid');
export const Bigint = ofType('bigint');
export const Integer = ofType('integer');
export const Smallint = ofType('smallint');
export const Double = ofType('double precision');
export const Numeric = ofType('numeric');
export const Flag = ofType('boolean');
export const Timestamp = ofType('timestamptz');
export const Jsonb = ofType('jsonb');
/** Keeps the text of the value, with the order of its keys. */
export const Json = ofType('json');
export const Bytea = ofType('bytea');

function ofType(type: ColumnOptions['type']) {
  return (options?: ColumnOptions): PropertyDecorator => Column({ ...options, type });
}

/** The columns of an entity's table for a SELECT or RETURNING, each under the name of its property. */
export function columnsOf(entity: Type, alias?: string, without: readonly string[] = []): string {
  const table = alias === undefined ? '' : `${alias}.`;
  return getMetadataArgsStorage()
    .filterColumns(entity)
    .filter(({ propertyName }) => !without.includes(propertyName))
    .map(({ propertyName: name }) => `${table}${columnName(name)} AS "${name}"`)
    .join(', ');
}

/**
 * INSERT parts of a record: its columns and parameters, as `(a, b) VALUES ($1, $2)`, and their values. Every field
 * of the record is a column.
 */
export function insertionOf(record: object): {
  readonly fields: string;
  readonly values: readonly unknown[];
} {
  const columns = Object.keys(record).map(columnName);
  const parameters = columns.map((_, index) => `$${index + 1}`);
  return {
    fields: `(${columns.join(', ')}) VALUES (${parameters.join(', ')})`,
    values: Object.values(record),
  };
}
