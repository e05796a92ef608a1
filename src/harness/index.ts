import { HarnessApproval } from './approval/approval.entity.js';
import { HarnessGrant } from './approval/grant.entity.js';
import { HarnessArtifact } from './change/artifact.entity.js';
import { HarnessFileChange } from './change/file-change.entity.js';
import { HarnessSwitch } from './control/switch.entity.js';
import { HarnessEffect } from './effect/effect.entity.js';
import { HarnessEvent } from './event/event.entity.js';
import { HarnessModelCall } from './loop/model-call.entity.js';
import { HarnessMessage } from './message/message.entity.js';
import { HarnessInput } from './run/run-input.entity.js';
import { HarnessRun } from './run/run.entity.js';
import { HarnessWorkspaceLock } from './run/workspace-lock.entity.js';
import { HarnessSession } from './session/session.entity.js';
import { HarnessSkill } from './skill/harness-skill.entity.js';

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
