import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { ForbiddenError } from '../../platform/error/index.js';
import type { PermissionMode } from './session.values.js';

interface Permitted {
  readonly permissionMode: PermissionMode;
}

const USE = 'coding:harness:use';
const WRITE = 'coding:harness:write';

/**
 * ForbiddenError unless the session is READ_ONLY or the caller may let the harness write now. Asked with every request
 * that makes a run go on, because permissions change while sessions stay.
 */
export function requireWrite(caller: Caller, { permissionMode }: Permitted): void {
  if (permissionMode === 'READ_ONLY' || mayAny(caller, [WRITE])) return;
  throw new ForbiddenError(
    `You need the permission ${WRITE}, because the session is ${permissionMode}. Ask an administrator for it, or use a READ_ONLY session.`,
  );
}

/** Whether a run of the mode may go on in the name of a user who has these permissions now. */
export function mayContinue(caller: Caller, { permissionMode }: Permitted): boolean {
  return mayAny(caller, [USE]) && (permissionMode === 'READ_ONLY' || mayAny(caller, [WRITE]));
}
