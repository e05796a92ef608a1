// Tool calls: their states and what a new owner makes of them, as pure functions. Only runs are claimed, never effects: what
// is settled stays as it is.

/** READ and META change nothing outside the database and may be run again; FILE can be compared; SHELL cannot. */
export type EffectClass = 'READ' | 'META' | 'FILE' | 'SHELL';

/** Calls of a turn: one that may be repeated, and one whose loss leaves its outcome unknown. */
export type TurnEffectClass = 'IDEMPOTENT' | 'TOOL';

export const OPEN_EFFECTS = ['PREPARED', 'STARTED', 'UNCERTAIN'] as const;
export type OpenEffectState = (typeof OPEN_EFFECTS)[number];

export const SETTLED_EFFECTS = [
  'SUCCEEDED',
  'FAILED',
  'TIMED_OUT',
  'CANCELLED',
  /** Certainly without any effect. */
  'NOT_EXECUTED',
  /** Refused by the policy or a person. */
  'DENIED',
  /** The arguments broke the tool's rules, or there is no such tool. */
  'INVALID',
] as const;
export type SettledEffectState = (typeof SETTLED_EFFECTS)[number];

export type EffectState = OpenEffectState | SettledEffectState;

/** How the files of a started effect are found: all as before it, all as after it, each one of both, or otherwise. */
export type FilesFound = 'BEFORE' | 'AFTER' | 'MIXED' | 'OTHER';

export interface EffectFacts {
  readonly state: EffectState;
  readonly effectClass: EffectClass;
}

export type Reconciliation =
  /** The outcome is stored, its message is not. */
  | 'write-result'
  /** It is still to be executed, in its turn. */
  | 'execute'
  /** Certainly nothing has happened: NOT_EXECUTED. */
  | 'not-executed'
  /** The planned change happened: SUCCEEDED. */
  | 'succeeded'
  /** Part of it has happened: put the files back, then NOT_EXECUTED. */
  | 'roll-back'
  /** Unknown: UNCERTAIN, and the run parks. */
  | 'uncertain';

export function isSettled(state: EffectState): state is SettledEffectState {
  return !OPEN_EFFECTS.some((open) => open === state);
}

/**
 * Reconciles an effect without a result message when a new owner claims the run. `recovering` is false when the last
 * owner released the run: prepared effects are then still wanted. Only started FILE effects need `filesFound`.
 */
export function reconciliationOf(
  { state, effectClass }: EffectFacts,
  {
    recovering,
    filesFound,
  }: { readonly recovering: boolean; readonly filesFound?: FilesFound | undefined },
): Reconciliation {
  if (isSettled(state)) return 'write-result';
  if (state === 'UNCERTAIN') return 'uncertain';
  if (effectClass === 'READ' || effectClass === 'META') return 'execute';
  if (state === 'PREPARED') return recovering ? 'not-executed' : 'execute';
  if (effectClass === 'SHELL') return 'uncertain';
  switch (filesFound) {
    case 'AFTER':
      return 'succeeded';
    case 'BEFORE':
      return 'not-executed';
    case 'MIXED':
      return 'roll-back';
    default:
      return 'uncertain';
  }
}

/** How an open effect ends with a run that is cancelled or given up: what may have happened stays marked as uncertain. */
export function abandonedAs({ state, effectClass }: EffectFacts): 'NOT_EXECUTED' | 'UNCERTAIN' {
  const harmless = state === 'PREPARED' || effectClass === 'READ' || effectClass === 'META';
  return harmless ? 'NOT_EXECUTED' : 'UNCERTAIN';
}

export const RESOLUTIONS = ['EXECUTED', 'NOT_EXECUTED'] as const;
/** A person's finding about a tool call whose outcome was unknown. */
export type Resolution = (typeof RESOLUTIONS)[number];

/** The content of a file with its permission bits; or a link with its target, or a folder. */
export interface FileState {
  /** SHA-256 of the content, lower-case hex; of a link, of its target; of a folder, of nothing. */
  readonly sha256: string;
  readonly size: number;
  /** Permission bits, as in 0o644; of a link LINK_MODE, of a folder FOLDER_MODE and its permission bits. */
  readonly mode: number;
}

/** One change of one file, link or folder, as it is written down before it happens. Null: it is not there. */
export interface FileOperation {
  /** Path below the workspace, with `/` between names. */
  readonly path: string;
  readonly op: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly before: FileState | null;
  readonly after: FileState | null;
  /** False when the content before was not kept: the change cannot be undone. */
  readonly restorable: boolean;
  /**
   * Folders above the path, counted from the file upwards, that come and go with it: made with it, and removed once the
   * file is removed and they are empty.
   */
  readonly madeFolders?: number;
}

/** A file as it was when a tool showed or wrote it: what an edit is checked against. */
export interface SeenFile {
  readonly path: string;
  readonly sha256: string;
}
