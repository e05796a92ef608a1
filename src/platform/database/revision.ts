import type { FindOptionsWhere, ObjectLiteral, Repository } from 'typeorm';
import { NotFoundError, RevisionConflictError } from '../error/index.js';
import type { Message } from '../message/index.js';

/** A change of a record that two people can edit. */
export interface RevisedChange {
  /** The revision that the change was made from; undefined: nothing is compared. */
  readonly expected: number | undefined;
  /** The record as it is now, for the one whose change is refused. */
  readonly current: () => Promise<unknown>;
}

/**
 * RevisionConflictError with what `current` answers, if the row has another revision (`@Revision`) than the one that a change was
 * made from. Locks the row until the transaction ends. Call it in a transaction, before the row is read.
 */
export async function requireRevision<E extends ObjectLiteral>(
  rows: Repository<E>,
  where: FindOptionsWhere<E> | FindOptionsWhere<E>[],
  label: Message,
  { expected, current }: RevisedChange,
): Promise<void> {
  if (expected === undefined) return;
  const row = await rows.findOne({ where, lock: { mode: 'for_no_key_update' } });
  if (!row) throw new NotFoundError(label);
  const revision = Number(rows.metadata.versionColumn?.getEntityValue(row));
  if (revision === expected) return;
  throw new RevisionConflictError(label, { revision, current: await current() });
}
