import {
  HarnessApproval,
  HarnessArtifact,
  HarnessEffect,
  HarnessEvent,
  HarnessFileChange,
  HarnessGrant,
  HarnessInput,
  HarnessMessage,
  HarnessModelCall,
  HarnessRun,
  HarnessSession,
  HarnessSkill,
  HarnessSwitch,
  HarnessWorkspaceLock,
} from './store/harness.entity.js';

export { HarnessModule } from './harness.module.js';

export const harnessEntities = [
  HarnessApproval,
  HarnessArtifact,
  HarnessEffect,
  HarnessEvent,
  HarnessFileChange,
  HarnessGrant,
  HarnessInput,
  HarnessMessage,
  HarnessModelCall,
  HarnessRun,
  HarnessSession,
  HarnessSkill,
  HarnessSwitch,
  HarnessWorkspaceLock,
];
