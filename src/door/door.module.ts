import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentModule } from '../agent/index.js';
import { AttachModule } from '../attach/index.js';
import { ChatModule } from '../chat/index.js';
import { ModelModule } from '../model/index.js';
import { AnthropicController } from './anthropic/anthropic.controller.js';
import { TokenCounts } from './anthropic/token-counts.js';
import { AgentAnswers } from './answer/agent-answers.js';
import { RelayedCounts } from './answer/relayed-counts.js';
import { DoorAnswers } from './answer/door-answers.js';
import { DoorFiles } from './answer/door-files.js';
import { OpenAiCompletions } from './openai/openai.completions.js';
import { GeminiController } from './gemini/gemini.controller.js';
import { EmbedContent } from './gemini/embed-content.js';
import { Gemini } from './gemini/gemini.service.js';
import { OpenAiController } from './openai/openai.controller.js';
import { OpenAiEmbeddings } from './openai/openai.embeddings.js';
import { OpenAiMedia } from './openai/openai.media.js';
import { OpenAiModels } from './openai/openai.models.js';
import { OpenAiModeration } from './openai/openai.moderation.js';
import { OpenAiRerank } from './openai/openai.rerank.js';
import { BackgroundResponses } from './openai/responses/background-responses.js';
import { ResponseEventRepository } from './openai/responses/response-event.repository.js';
import { ResponseEvents } from './openai/responses/response-events.js';
import {
  ResponseConversation,
  ResponseConversationItem,
} from './openai/responses/conversation.entity.js';
import { ConversationRepository } from './openai/responses/conversation.repository.js';
import { ConversationsController } from './openai/responses/conversations.controller.js';
import { Conversations } from './openai/responses/conversations.service.js';
import { OpenAiTranscription } from './openai/openai.transcription.js';
import { ResponseRetention } from './openai/responses/response.retention.js';
import { ResponsesController } from './openai/responses/responses.controller.js';
import { Responses } from './openai/responses/responses.service.js';
import { StoredResponse, StoredResponseEvent } from './openai/responses/stored-response.entity.js';
import { StoredResponseRepository } from './openai/responses/stored-response.repository.js';

/** Interfaces that speak the protocols of model services, for their clients. */
@Module({})
export class DoorModule {
  /** @param media The MediaModule of the application, which has settings for tests. */
  static for(media: DynamicModule): DynamicModule {
    return {
      module: DoorModule,
      imports: [
        TypeOrmModule.forFeature([
          StoredResponse,
          StoredResponseEvent,
          ResponseConversation,
          ResponseConversationItem,
        ]),
        AgentModule,
        AttachModule,
        ChatModule,
        media,
        ModelModule,
      ],
      controllers: [
        OpenAiController,
        ResponsesController,
        ConversationsController,
        AnthropicController,
        GeminiController,
      ],
      providers: [
        AgentAnswers,
        BackgroundResponses,
        ResponseEventRepository,
        ResponseEvents,
        RelayedCounts,
        ConversationRepository,
        Conversations,
        DoorAnswers,
        DoorFiles,
        Gemini,
        EmbedContent,
        OpenAiCompletions,
        OpenAiEmbeddings,
        OpenAiMedia,
        OpenAiModels,
        OpenAiModeration,
        OpenAiRerank,
        OpenAiTranscription,
        ResponseRetention,
        Responses,
        StoredResponseRepository,
        TokenCounts,
      ],
    };
  }
}
