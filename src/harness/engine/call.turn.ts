import type { Caller } from '../../platform/access/index.js';
import type { ApprovalAsk } from '../store/approval.ask.js';
import type { ApprovalRow } from '../store/approval.repository.js';
import type { HarnessRun, HarnessSession } from '../store/harness.entity.js';
import type { RunSkills } from '../store/run-skills.js';
import type { OfferFacts } from '../tool/tool.js';
import type { Workspace } from '../workspace/workspace.js';
import type { HeldRun } from './held.run.js';

/** Everything that the tool calls of one message are carried out with. */
export interface CallTurn {
  readonly held: HeldRun;
  readonly run: HarnessRun;
  readonly session: HarnessSession;
  readonly caller: Caller;
  readonly workspace: Workspace;
  readonly skills: RunSkills;
  /** SHA-256 by path; grows with what the calls see. */
  readonly seen: Map<string, string>;
  readonly offer: OfferFacts;
  /** The last approval of each open call. */
  readonly approvals: ReadonlyMap<string, ApprovalRow>;
  /** Of the model service: masked in whatever leaves a tool. */
  readonly secrets: readonly string[];
}

/** What became of one call; `ask` has not begun, `unsettled` has and nobody has written down how it ended. */
export type CallResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'ask'; readonly ask: ApprovalAsk }
  | { readonly kind: 'parked' }
  | { readonly kind: 'unsettled' };
