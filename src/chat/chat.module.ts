import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentModule } from '../agent/index.js';
import { KnowledgeModule } from '../knowledge/index.js';
import { ModelModule } from '../model/index.js';
import { RetrievalModule } from '../retrieval/index.js';
import { ChatMessage } from './message.entity.js';
import { ChatSession } from './session.entity.js';
import { ChatAugmentation } from './augmentation/chat.augmentation.js';
import { AnswerStore } from './answer.store.js';
import { ChatAnswer } from './chat.answer.js';
import { ChatController } from './chat.controller.js';
import { ChatService } from './chat.service.js';
import { StructuredAnswers } from './format/structured-answers.js';
import { MessageController } from './message.controller.js';
import { MessageService } from './message.service.js';
import { RunningTurns } from './running-turns.js';
import { SessionController } from './session.controller.js';
import { SessionService } from './session.service.js';
import { ChatStep } from './step/step.entity.js';
import { StepRepository } from './step/step.repository.js';
import { TurnLease } from './turn-lease.entity.js';
import { TurnRepository } from './turn.repository.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([ChatMessage, ChatSession, ChatStep, TurnLease]),
    ModelModule,
    KnowledgeModule,
    RetrievalModule,
    AgentModule,
  ],
  controllers: [ChatController, SessionController, MessageController],
  providers: [
    ChatService,
    AnswerStore,
    ChatAnswer,
    ChatAugmentation,
    RunningTurns,
    StepRepository,
    StructuredAnswers,
    TurnRepository,
    SessionService,
    MessageService,
  ],
})
export class ChatModule {}
