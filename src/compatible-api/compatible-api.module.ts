import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StorageModule } from '../platform/storage/index.js';
import { StreamModule } from '../platform/stream/index.js';
import { AgentModule } from '../agent/index.js';
import { AttachModule } from '../attach/index.js';
import { ChatModule } from '../chat/index.js';
import { ModelModule } from '../model/index.js';
import { AnthropicController } from './anthropic/anthropic.controller.js';
import { MessageTokenCounts } from './anthropic/message-token-counts.js';
import { AgentAnswers } from './answer/agent-answers.js';
import { UpstreamTokenCounts } from './answer/token-counts.js';
import { ApiAnswers } from './answer/api-answers.js';
import { RequestFiles } from './answer/request-files.js';
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
import { ResponseEvents } from './openai/responses/response-events.js';
import {
  ResponseConversation,
  ResponseConversationItem,
} from './openai/responses/conversation.entity.js';
import { ConversationRepository } from './openai/responses/conversation.repository.js';
import { ConversationsController } from './openai/responses/conversations.controller.js';
import { Conversations } from './openai/responses/conversations.service.js';
import { ApiBatch, ApiBatchLine } from './batch/api-batch.entity.js';
import { ApiBatchRepository } from './batch/api-batch.repository.js';
import { BatchRetention } from './batch/batch.retention.js';
import { BatchWorker } from './batch/batch.worker.js';
import { BatchesController } from './batch/batches.controller.js';
import { Batches } from './batch/batches.service.js';
import { LineAnswers } from './batch/line-answers.js';
import { MessageBatchesController } from './batch/message-batches.controller.js';
import { FileReferences } from './files/file-references.js';
import { ApiFile } from './files/api-file.entity.js';
import { ApiFileRepository } from './files/api-file.repository.js';
import { ApiFilesController } from './files/api-files.controller.js';
import { ApiFiles } from './files/api-files.service.js';
import { OpenAiTranscription } from './openai/openai.transcription.js';
import { ResponseRetention } from './openai/responses/response.retention.js';
import { ResponsesController } from './openai/responses/responses.controller.js';
import { Responses } from './openai/responses/responses.service.js';
import { StoredResponse } from './openai/responses/stored-response.entity.js';
import { StoredResponseRepository } from './openai/responses/stored-response.repository.js';

const entities = [
  ApiBatch,
  ApiBatchLine,
  ApiFile,
  StoredResponse,
  ResponseConversation,
  ResponseConversationItem,
];

const controllers = [
  OpenAiController,
  ResponsesController,
  ConversationsController,
  AnthropicController,
  ApiFilesController,
  BatchesController,
  GeminiController,
  MessageBatchesController,
];

const providers = [
  AgentAnswers,
  ApiBatchRepository,
  ApiFileRepository,
  ApiFiles,
  BackgroundResponses,
  BatchRetention,
  BatchWorker,
  Batches,
  ConversationRepository,
  Conversations,
  ApiAnswers,
  RequestFiles,
  EmbedContent,
  FileReferences,
  Gemini,
  LineAnswers,
  OpenAiCompletions,
  OpenAiEmbeddings,
  OpenAiMedia,
  OpenAiModels,
  OpenAiModeration,
  OpenAiRerank,
  OpenAiTranscription,
  UpstreamTokenCounts,
  ResponseEvents,
  ResponseRetention,
  Responses,
  StoredResponseRepository,
  MessageTokenCounts,
];

/** Interfaces that speak the protocols of model services, for their clients. */
@Module({})
export class CompatibleApiModule {
  /** @param media The MediaModule of the application, which has settings for tests. */
  static for(media: DynamicModule): DynamicModule {
    return {
      module: CompatibleApiModule,
      imports: [
        TypeOrmModule.forFeature(entities),
        AgentModule,
        AttachModule,
        ChatModule,
        media,
        ModelModule,
        StorageModule,
        StreamModule,
      ],
      controllers,
      providers,
      exports: [ApiAnswers],
    };
  }
}
