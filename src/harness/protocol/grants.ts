import type { GrantKind } from './approval.values.js';
import { sha256 } from './ids.js';

/** What people have granted for one session, as it was when it was asked for. */
export class Grants {
  private readonly keys: ReadonlySet<string>;

  constructor(granted: readonly { readonly kind: GrantKind; readonly subjectHash: string }[]) {
    this.keys = new Set(granted.map(({ kind, subjectHash }) => `${kind} ${subjectHash}`));
  }

  /** Whether this very path, as tools normalise it, may be written. */
  path(path: string): boolean {
    return this.has('PATH', path);
  }

  /** Whether this command, character for character, may be run. */
  command(command: string): boolean {
    return this.has('COMMAND', command);
  }

  private has(kind: GrantKind, subject: string): boolean {
    return this.keys.has(`${kind} ${sha256(subject)}`);
  }
}
