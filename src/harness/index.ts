import { HarnessApproval } from './store/approval.entity.js';
import { HarnessGrant } from './store/grant.entity.js';
import { HarnessArtifact } from './store/artifact.entity.js';
import { HarnessFileChange } from './store/file-change.entity.js';
import { HarnessSwitch } from './store/switch.entity.js';
import { HarnessEffect } from './store/effect.entity.js';
import { HarnessEvent } from './store/event.entity.js';
import { HarnessModelCall } from './store/model-call.entity.js';
import { HarnessMessage } from './store/message.entity.js';
import { HarnessInput } from './store/run-input.entity.js';
import { HarnessRun } from './store/run.entity.js';
import { HarnessWorkspaceLock } from './store/workspace-lock.entity.js';
import { HarnessSession } from './store/session.entity.js';
import { HarnessSkill } from './store/harness-skill.entity.js';

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
