import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ModelModule } from '../model/index.js';
import { SkillModule } from '../skill/index.js';
import { HarnessApproval } from './store/harness.entity.js';
import { HarnessGrant } from './store/harness.entity.js';
import { HarnessArtifact } from './store/harness.entity.js';
import { HarnessFileChange } from './store/harness.entity.js';
import { HarnessSwitch } from './store/harness.entity.js';
import { HarnessEffect } from './store/harness.entity.js';
import { HarnessEvent } from './store/harness.entity.js';
import { HarnessModelCall } from './store/harness.entity.js';
import { HarnessMessage } from './store/harness.entity.js';
import { HarnessInput } from './store/harness.entity.js';
import { HarnessRun } from './store/harness.entity.js';
import { HarnessWorkspaceLock } from './store/harness.entity.js';
import { HarnessSession } from './store/harness.entity.js';
import { HarnessSkill } from './store/harness.entity.js';
import { ApprovalController, GrantController } from './api/approval/approval.controller.js';
import {
  ApprovalReviewService,
  GrantService,
  InboxService,
} from './api/approval/approval.service.js';
import { ApprovalRepository } from './store/approval.repository.js';
import { GrantRepository } from './store/grant.repository.js';
import { InboxRepository } from './store/inbox.repository.js';
import { ArtifactRepository } from './store/artifact.repository.js';
import { Artifacts } from './change/artifacts.js';
import { BlobStore } from './change/blob.store.js';
import { ChangeController, UndoController } from './api/change/change.controller.js';
import { FileChangeRepository } from './store/file-change.repository.js';
import { FileChanges } from './change/file-changes.js';
import { RunArtifacts, RunChanges } from './api/change/change.service.js';
import { WorkspaceSnapshots } from './change/snapshot/workspace.snapshots.js';
import { UndoInspection } from './engine/undo/undo.inspection.js';
import { UndoRepository } from './store/undo.repository.js';
import { UndoService } from './engine/undo/undo.service.js';
import { ContextBuilder } from './context/context.builder.js';
import { PrefaceRepository } from './store/preface.repository.js';
import { SummaryWriter } from './context/summary.js';
import { SurroundingsReader } from './context/surroundings.js';
import { TurnMessageRepository } from './store/turn-message.repository.js';
import { CapabilityService } from './api/control/capability.service.js';
import { ControlController } from './api/control/control.controller.js';
import { HarnessSwitches } from './store/harness.switches.js';
import { SwitchRepository } from './store/switch.repository.js';
import { EffectController } from './api/effect/effect.controller.js';
import { EffectRepository } from './store/effect.repository.js';
import { EffectService } from './api/effect/effect.service.js';
import { ToolCallRecovery } from './engine/recovery.js';
import { PartialOutputs } from './engine/partial.outputs.js';
import { ToolResults } from './engine/tool.results.js';
import { EventController } from './api/event/event.controller.js';
import { EventFeed } from './api/event/event.feed.js';
import { EventRepository } from './store/event.repository.js';
import { EventRetention } from './engine/event.retention.js';
import { EventService } from './api/event/event.service.js';
import { RunRowRepository } from './store/run-row.repository.js';
import { RunLedger } from './store/run.ledger.js';
import { ClaimRepository } from './store/claim.repository.js';
import { InputIntake } from './engine/input.intake.js';
import { ModelCallRepository } from './store/model-call.repository.js';
import { ModelCalls } from './engine/model.calls.js';
import { RunEnding } from './engine/run.ending.js';
import { RunLoop } from './engine/run.loop.js';
import { RunWorker } from './engine/run.worker.js';
import { ToolCalls } from './engine/tool.calls.js';
import { WorkspaceLockRepository } from './store/workspace-lock.repository.js';
import { HarnessMessageController } from './api/message/message.controller.js';
import { MessageService } from './api/message/message.service.js';
import { MessageRepository } from './store/message.repository.js';
import { PlanController } from './api/plan/plan.controller.js';
import { PlanService } from './api/plan/plan.service.js';
import { ReportController } from './api/report/report.controller.js';
import { ReportRepository } from './store/report.repository.js';
import { ReportService } from './api/report/report.service.js';
import { RunInputRepository } from './store/run-input.repository.js';
import { RunControl } from './api/run/run.control.js';
import { RunController } from './api/run/run.controller.js';
import { RunCreation } from './api/run/run.creation.js';
import { RunRepository } from './store/run.repository.js';
import { RunService } from './api/run/run.service.js';
import { Sandbox } from './sandbox/sandbox.js';
import { ModelSecrets, SecretMask } from './store/secret-mask.js';
import { HarnessModels } from './api/session/harness.models.js';
import { HarnessSessionController } from './api/session/session.controller.js';
import { SessionRepository } from './store/session.repository.js';
import { SessionService } from './api/session/session.service.js';
import { HarnessSkills } from './context/skills.js';
import { HarnessSkillService } from './api/skill/skill.service.js';
import { HarnessSkillController } from './api/skill/skill.controller.js';
import { SkillRepository } from './store/skill.repository.js';
import { FileSearch } from './tool/reading/file-search.js';
import { toolProviders } from './tool/tools.js';
import { WorkspaceRoots } from './workspace/workspace-roots.js';

/** Sessions and runs of the coding harness. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
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
    ]),
    ModelModule,
    SkillModule,
  ],
  controllers: [
    ApprovalController,
    GrantController,
    ChangeController,
    UndoController,
    ControlController,
    EffectController,
    EventController,
    HarnessMessageController,
    PlanController,
    ReportController,
    RunController,
    HarnessSessionController,
    HarnessSkillController,
  ],
  providers: [
    ApprovalReviewService,
    ApprovalRepository,
    GrantRepository,
    GrantService,
    InboxRepository,
    InboxService,
    ArtifactRepository,
    Artifacts,
    BlobStore,
    FileChangeRepository,
    FileChanges,
    RunArtifacts,
    RunChanges,
    WorkspaceSnapshots,
    UndoInspection,
    UndoRepository,
    UndoService,
    ContextBuilder,
    PrefaceRepository,
    SummaryWriter,
    SurroundingsReader,
    TurnMessageRepository,
    CapabilityService,
    HarnessSwitches,
    SwitchRepository,
    EffectRepository,
    EffectService,
    ToolCallRecovery,
    PartialOutputs,
    ToolResults,
    EventFeed,
    EventRepository,
    EventRetention,
    EventService,
    RunRowRepository,
    RunLedger,
    ClaimRepository,
    InputIntake,
    ModelCallRepository,
    ModelCalls,
    RunEnding,
    RunLoop,
    RunWorker,
    ToolCalls,
    WorkspaceLockRepository,
    MessageRepository,
    MessageService,
    PlanService,
    ReportRepository,
    ReportService,
    RunInputRepository,
    RunControl,
    RunCreation,
    RunRepository,
    RunService,
    Sandbox,
    ModelSecrets,
    SecretMask,
    HarnessModels,
    SessionRepository,
    SessionService,
    HarnessSkills,
    SkillRepository,
    HarnessSkillService,
    WorkspaceRoots,
    FileSearch,
    ...toolProviders,
  ],
})
export class HarnessModule {}
