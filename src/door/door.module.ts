import { Module } from '@nestjs/common';
import { AgentModule } from '../agent/index.js';
import { ChatModule } from '../chat/index.js';
import { ModelModule } from '../model/index.js';
import { AgentCompletions } from './openai/agent-completions.js';
import { ChatCompletions } from './openai/chat-completions.js';
import { OpenAiController } from './openai/openai.controller.js';
import { OpenAiEmbeddings } from './openai/openai.embeddings.js';
import { OpenAiModels } from './openai/openai.models.js';

/** Interfaces that speak the protocols of model services, for their clients. */
@Module({
  imports: [AgentModule, ChatModule, ModelModule],
  controllers: [OpenAiController],
  providers: [AgentCompletions, ChatCompletions, OpenAiEmbeddings, OpenAiModels],
})
export class DoorModule {}
