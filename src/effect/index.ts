export { MAX_INBOX_BYTES, MAX_INBOX_ENTRIES, ApprovalRepository } from './approval.repository.js';
export type {
  ApprovalAsk,
  ApprovalRow,
  DecisionValues,
  RunApprovalRow,
} from './approval.repository.js';
export {
  APPROVAL_STATES,
  availableDecisions,
  canonicalJson,
  DECISIONS,
  Grants,
  hashOf,
  subjectHash,
  CONSENTS,
} from './consent.js';
export type {
  ApprovalPreview,
  ApprovalState,
  ApprovalSubject,
  Decision,
  GrantKind,
  GrantSubject,
  PreviewFile,
  Consent,
} from './consent.js';
export { Effect } from './effect.entity.js';
export type { EffectOwner, RunEffect, SessionGrant, TurnOwner } from './effect.entity.js';
export { EffectModule } from './effect.module.js';
export { EffectRepository, ENDED_WITH_TURN, IN_ORDER } from './effect.repository.js';
export type {
  EffectOutcome,
  EffectRange,
  EffectStart,
  EffectTraces,
  MadeFolders,
  NewEffect,
  PastCall,
  ShownEffect,
  ToolCallResolution,
} from './effect.repository.js';
export {
  abandonedAs,
  isSettled,
  OPEN_EFFECTS,
  reconciliationOf,
  RESOLUTIONS,
  SETTLED_EFFECTS,
} from './effect.state.js';
export type {
  EffectClass,
  EffectFacts,
  EffectState,
  FileOperation,
  FilesFound,
  FileState,
  OpenEffectState,
  Reconciliation,
  Resolution,
  SeenFile,
  SettledEffectState,
  TurnEffectClass,
} from './effect.state.js';
