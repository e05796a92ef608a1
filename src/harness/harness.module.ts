import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { EffectModule } from '../effect/index.js';
import { ModelModule } from '../model/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { SkillModule } from '../skill/index.js';
import * as entities from './store/harness.entity.js';
import {
  ApprovalController,
  GrantController,
  PlanController,
} from './api/approval/approval.controller.js';
import {
  ArtifactRepository,
  FileChangeRepository,
  UndoRepository,
} from './store/file-change.repository.js';
import { Artifacts, BlobStore } from './change/blob.store.js';
import { ChangeController, UndoController } from './api/change/change.controller.js';
import { FileChanges } from './change/file-changes.js';
import { WorkspaceSnapshots } from './change/snapshot/workspace.snapshots.js';
import { UndoInspection } from './engine/undo/undo.inspection.js';
import { UndoService } from './engine/undo/undo.service.js';
import { ContextBuilder, SurroundingsReader } from './context/context.builder.js';
import { SummaryWriter } from './context/compaction.js';
import { ControlController } from './api/control/control.controller.js';
import {
  HarnessSwitches,
  RunInputRepository,
  RunRepository,
  SessionRepository,
} from './store/run.repository.js';
import { EffectController } from './api/effect/effect.controller.js';
import { InterruptedCommands, ToolCallRecovery } from './engine/recovery.js';
import { PartialOutputs, ToolResults } from './engine/tool.results.js';
import { EventController, FollowController } from './api/event/event.controller.js';
import { EventFeed } from './api/event/event.feed.js';
import { EventRepository } from './store/event.repository.js';
import { EventRetention, RunRetention } from './engine/event.retention.js';
import { RunLedger, RunStore } from './store/run.ledger.js';
import { RunOpener } from './engine/run.context.js';
import { ToolConsent } from './engine/tool.consent.js';
import {
  MessageRepository,
  ModelCallRepository,
  SkillRepository,
} from './store/message.repository.js';
import { ModelCalls } from './engine/model.calls.js';
import { RunEnding } from './engine/run.ending.js';
import { RunLoop, RunWorker } from './engine/run.js';
import { ToolCalls } from './engine/tools.js';
import { WorkspaceLockRepository } from './store/workspace-lock.repository.js';
import { HarnessMessageController } from './api/message/message.controller.js';
import { ReportController } from './api/report/report.controller.js';
import { InboxRepository } from './store/inbox.repository.js';
import { ReportRepository } from './store/report.repository.js';
import { RunController } from './api/run/run.controller.js';
import { HarnessModels, RunService } from './api/run/run.service.js';
import { Sandbox } from './sandbox/sandbox.js';
import { ModelSecrets, SecretMask } from './store/secret-mask.js';
import { HarnessSessionController } from './api/session/session.controller.js';
import { HarnessSkills } from './context/skills.js';
import { HarnessSkillController } from './api/skill/skill.controller.js';
import { FileSearch } from './tool/reading/file-search.js';
import { toolProviders } from './tool/tools.js';
import { WorkspaceController } from './api/workspace/workspace.controller.js';
import { WorkspaceRoots } from './workspace/workspace-roots.js';

/** Sessions and runs of the coding harness. */
@Module({
  imports: [
    TypeOrmModule.forFeature(Object.values(entities)),
    EffectModule,
    ModelModule,
    SkillModule,
    StorageModule,
  ],
  controllers: [
    ApprovalController,
    GrantController,
    ChangeController,
    UndoController,
    ControlController,
    EffectController,
    EventController,
    FollowController,
    HarnessMessageController,
    PlanController,
    ReportController,
    RunController,
    HarnessSessionController,
    HarnessSkillController,
    WorkspaceController,
  ],
  providers: [
    ArtifactRepository,
    Artifacts,
    BlobStore,
    FileChangeRepository,
    FileChanges,
    WorkspaceSnapshots,
    UndoInspection,
    UndoRepository,
    UndoService,
    ContextBuilder,
    SummaryWriter,
    SurroundingsReader,
    HarnessSwitches,
    InterruptedCommands,
    ToolCallRecovery,
    PartialOutputs,
    ToolResults,
    EventFeed,
    EventRepository,
    EventRetention,
    RunRetention,
    RunLedger,
    RunStore,
    RunOpener,
    ModelCallRepository,
    ModelCalls,
    RunEnding,
    RunLoop,
    RunWorker,
    ToolCalls,
    ToolConsent,
    WorkspaceLockRepository,
    MessageRepository,
    InboxRepository,
    ReportRepository,
    RunInputRepository,
    RunRepository,
    RunService,
    Sandbox,
    ModelSecrets,
    SecretMask,
    HarnessModels,
    SessionRepository,
    HarnessSkills,
    SkillRepository,
    WorkspaceRoots,
    FileSearch,
    ...toolProviders,
  ],
  exports: [RunService],
})
export class HarnessModule {}
