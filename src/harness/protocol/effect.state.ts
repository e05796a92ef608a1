/**
 * The states of a tool call and what a new owner makes of them, as pure functions. An
 * effect is never claimed, only runs are: what is settled stays as it is.
 */

/** READ and META change nothing outside the database and may be run again; FILE can be compared; SHELL cannot. */
export type EffectClass = 'READ' | 'META' | 'FILE' | 'SHELL';

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
  /** What was planned has happened: SUCCEEDED. */
  | 'succeeded'
  /** Part of it has happened: put the files back, then NOT_EXECUTED. */
  | 'roll-back'
  /** Unknown: UNCERTAIN, and the run parks. */
  | 'uncertain';

export function isSettled(state: EffectState): state is SettledEffectState {
  return !OPEN_EFFECTS.some((open) => open === state);
}

/**
 * What becomes of an effect without a result message when a new owner takes the run up. `recovering` is false when the last owner gave the run
 * back in order: what is prepared is then still wanted. `found` is needed for started FILE effects alone.
 */
export function reconciliationOf(
  { state, effectClass }: EffectFacts,
  { recovering, found }: { readonly recovering: boolean; readonly found?: FilesFound | undefined },
): Reconciliation {
  if (isSettled(state)) return 'write-result';
  if (state === 'UNCERTAIN') return 'uncertain';
  if (effectClass === 'READ' || effectClass === 'META') return 'execute';
  if (state === 'PREPARED') return recovering ? 'not-executed' : 'execute';
  if (effectClass === 'SHELL') return 'uncertain';
  switch (found) {
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
/** What a person has found out about a tool call whose outcome was unknown. */
export type Resolution = (typeof RESOLUTIONS)[number];
