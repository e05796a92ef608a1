import { Module } from '@nestjs/common';
import { ModelModule } from '../model/index.js';
import { SkillModule } from '../skill/index.js';
import { ApprovalController } from './approval/approval.controller.js';
import { ApprovalDecisions } from './approval/approval.decisions.js';
import { ApprovalRepository } from './approval/approval.repository.js';
import { ApprovalService } from './approval/approval.service.js';
import { GrantController } from './approval/grant.controller.js';
import { GrantRepository } from './approval/grant.repository.js';
import { GrantService } from './approval/grant.service.js';
import { InboxRepository } from './approval/inbox.repository.js';
import { InboxService } from './approval/inbox.service.js';
import { ArtifactRepository } from './change/artifact.repository.js';
import { Artifacts } from './change/artifacts.js';
import { BlobStore } from './change/blob.store.js';
import { ChangeRecords } from './change/change-records.js';
import { ChangeController } from './change/change.controller.js';
import { FileChangeRepository } from './change/file-change.repository.js';
import { FileChanges } from './change/file-changes.js';
import { RunArtifacts } from './change/run-artifacts.js';
import { RunChanges } from './change/run-changes.js';
import { WorkspaceSnapshots } from './change/snapshot/workspace.snapshots.js';
import { MadeFolders } from './change/undo/made.folders.js';
import { UndoController } from './change/undo/undo.controller.js';
import { UndoExecution } from './change/undo/undo.execution.js';
import { UndoInspection } from './change/undo/undo.inspection.js';
import { UndoRecovery } from './change/undo/undo.recovery.js';
import { UndoRepository } from './change/undo/undo.repository.js';
import { UndoService } from './change/undo/undo.service.js';
import { ContextBuilder } from './context/context.builder.js';
import { PrefaceRepository } from './context/preface.repository.js';
import { RunFrame } from './context/run.frame.js';
import { RunPictures } from './context/run.pictures.js';
import { SummaryWriter } from './context/summary.writer.js';
import { TurnMessageRepository } from './context/turn-message.repository.js';
import { Capabilities } from './control/capabilities.js';
import { ControlController } from './control/control.controller.js';
import { HarnessSwitches } from './control/harness.switches.js';
import { SwitchRepository } from './control/switch.repository.js';
import { CommandTraces } from './effect/command.traces.js';
import { EffectController } from './effect/effect.controller.js';
import { EffectRepository } from './effect/effect.repository.js';
import { EffectResolutions } from './effect/effect.resolution.js';
import { EffectSettlement } from './effect/effect.settlement.js';
import { PartialOutputs } from './effect/partial.outputs.js';
import { ToolResults } from './effect/tool.results.js';
import { EventController } from './event/event.controller.js';
import { EventFeed } from './event/event.feed.js';
import { EventRepository } from './event/event.repository.js';
import { EventRetention } from './event/event.retention.js';
import { EventService } from './event/event.service.js';
import { RunRowRepository } from './ledger/run-row.repository.js';
import { RunLedger } from './ledger/run.ledger.js';
import { AnswerRecord } from './loop/answer.record.js';
import { CallRecord } from './loop/call.record.js';
import { ChangeCalls } from './loop/change.calls.js';
import { ClaimRepository } from './loop/claim.repository.js';
import { InputIntake } from './loop/input.intake.js';
import { ModelCallRepository } from './loop/model-call.repository.js';
import { ModelTurn } from './loop/model.turn.js';
import { ModelUsage } from './loop/model.usage.js';
import { PlanCalls } from './loop/plan.calls.js';
import { ProcessPresence } from './loop/process.presence.js';
import { RunCancel } from './loop/run.cancel.js';
import { RunClaims } from './loop/run.claims.js';
import { RunEnding } from './loop/run.ending.js';
import { RunLoop } from './loop/run.loop.js';
import { RunStep } from './loop/run.step.js';
import { RunWorker } from './loop/run.worker.js';
import { ToolCalls } from './loop/tool.calls.js';
import { WorkspaceLockRepository } from './loop/workspace-lock.repository.js';
import { HarnessMessageController } from './message/message.controller.js';
import { MessageRepository } from './message/message.repository.js';
import { MessageService } from './message/message.service.js';
import { PlanController } from './plan/plan.controller.js';
import { PlanService } from './plan/plan.service.js';
import { ReportController } from './report/report.controller.js';
import { ReportRepository } from './report/report.repository.js';
import { ReportService } from './report/report.service.js';
import { RunInputRepository } from './run/run-input.repository.js';
import { RunControl } from './run/run.control.js';
import { RunController } from './run/run.controller.js';
import { RunCreation } from './run/run.creation.js';
import { RunInputs } from './run/run.inputs.js';
import { RunRepository } from './run/run.repository.js';
import { RunService } from './run/run.service.js';
import { Sandbox } from './sandbox/sandbox.js';
import { ModelSecrets } from './secret/model-secrets.js';
import { SecretMask } from './secret/secret-mask.js';
import { HarnessModels } from './session/harness.models.js';
import { HarnessSessionController } from './session/session.controller.js';
import { SessionCreation } from './session/session.creation.js';
import { SessionRemoval } from './session/session.removal.js';
import { SessionRepository } from './session/session.repository.js';
import { SessionService } from './session/session.service.js';
import { HarnessSkills } from './skill/harness-skills.js';
import { HarnessSkillController } from './skill/skill.controller.js';
import { SkillDiscovery } from './skill/skill.discovery.js';
import { SkillRepository } from './skill/skill.repository.js';
import { HarnessSkillService } from './skill/skill.service.js';
import { FileSearch } from './tool/reading/search/file.search.js';
import { ToolRegistry, toolClasses } from './tool/tool.registry.js';
import { WorkspaceRoots } from './workspace/workspace-roots.js';

/** Sessions and runs of the coding harness. */
@Module({
  imports: [ModelModule, SkillModule],
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
    ApprovalDecisions,
    ApprovalRepository,
    ApprovalService,
    GrantRepository,
    GrantService,
    InboxRepository,
    InboxService,
    ArtifactRepository,
    Artifacts,
    BlobStore,
    ChangeRecords,
    FileChangeRepository,
    FileChanges,
    RunArtifacts,
    RunChanges,
    WorkspaceSnapshots,
    MadeFolders,
    UndoExecution,
    UndoInspection,
    UndoRecovery,
    UndoRepository,
    UndoService,
    ContextBuilder,
    PrefaceRepository,
    RunFrame,
    RunPictures,
    SummaryWriter,
    TurnMessageRepository,
    Capabilities,
    HarnessSwitches,
    SwitchRepository,
    CommandTraces,
    EffectRepository,
    EffectResolutions,
    EffectSettlement,
    PartialOutputs,
    ToolResults,
    EventFeed,
    EventRepository,
    EventRetention,
    EventService,
    RunRowRepository,
    RunLedger,
    AnswerRecord,
    CallRecord,
    ChangeCalls,
    ClaimRepository,
    InputIntake,
    ModelCallRepository,
    ModelTurn,
    ModelUsage,
    PlanCalls,
    ProcessPresence,
    RunCancel,
    RunClaims,
    RunEnding,
    RunLoop,
    RunStep,
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
    RunInputs,
    RunRepository,
    RunService,
    Sandbox,
    ModelSecrets,
    SecretMask,
    HarnessModels,
    SessionCreation,
    SessionRemoval,
    SessionRepository,
    SessionService,
    HarnessSkills,
    SkillDiscovery,
    SkillRepository,
    HarnessSkillService,
    ToolRegistry,
    WorkspaceRoots,
    FileSearch,
    ...toolClasses,
  ],
})
export class HarnessModule {}
