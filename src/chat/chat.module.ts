import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentModule } from '../agent/index.js';
import { AttachModule } from '../attach/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { StorageModule } from '../platform/storage/index.js';
import { StreamModule } from '../platform/stream/index.js';
import { RetrievalModule } from '../retrieval/index.js';
import { BranchRepository } from './branch/branch.repository.js';
import { ChatBranches } from './branch/chat.branches.js';
import { FeedbackController } from './feedback/feedback.controller.js';
import { Feedback } from './feedback/feedback.entity.js';
import { FeedbackRepository } from './feedback/feedback.repository.js';
import { FeedbackService } from './feedback/feedback.service.js';
import { ChatMessage, ChatStep } from './message.entity.js';
import { ChatSession, TurnLease } from './session.entity.js';
import { ChatAugmentation } from './augmentation/chat.augmentation.js';
import { AnswerStore } from './answer.store.js';
import { ChatRetention } from './chat.retention.js';
import { ChatRetentionRepository } from './chat-retention.repository.js';
import { ChatController } from './chat.controller.js';
import { ChatTurn } from './chat.turn.js';
import { ChatStreams } from './chat.streams.js';
import { ChatFileRepository } from './file/chat-file.repository.js';
import { ChatFileText } from './file/chat-file-text.entity.js';
import { ChatFiles } from './file/chat-files.js';
import { StructuredAnswers } from './format/structured-answers.js';
import { EffectModule } from '../effect/index.js';
import { TurnDecisions } from './decision/turn.decisions.js';
import { TurnStreams } from './detach/turn-streams.js';
import { MessageController } from './message.controller.js';
import { MessageService } from './message.service.js';
import { RunningTurns } from './running-turns.js';
import { SessionController } from './session.controller.js';
import { SessionService } from './session.service.js';
import { StepRepository } from './step.repository.js';
import { TurnPlanner } from './turn.planner.js';
import { TurnRepository } from './turn.repository.js';
import { ChatUseController } from './use/use.controller.js';
import { UseRepository } from './use/use.repository.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([
      ChatFileText,
      ChatMessage,
      ChatSession,
      ChatStep,
      Feedback,
      TurnLease,
    ]),
    ModelModule,
    StorageModule,
    StreamModule,
    KnowledgeModule,
    AttachModule,
    RetrievalModule,
    AgentModule,
    EffectModule,
  ],
  controllers: [
    ChatController,
    FeedbackController,
    SessionController,
    MessageController,
    ChatUseController,
  ],
  providers: [
    ChatTurn,
    TurnDecisions,
    TurnStreams,
    ChatStreams,
    AnswerStore,
    ChatAugmentation,
    ChatFileRepository,
    ChatFiles,
    ChatRetention,
    ChatRetentionRepository,
    ChatBranches,
    BranchRepository,
    FeedbackRepository,
    FeedbackService,
    RunningTurns,
    StepRepository,
    StructuredAnswers,
    TurnPlanner,
    TurnRepository,
    UseRepository,
    SessionService,
    MessageService,
  ],
  exports: [ChatStreams, ChatTurn, SessionService, StructuredAnswers, TurnPlanner],
})
export class ChatModule {}
