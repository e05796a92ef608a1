import { Body, Controller, Get, Headers, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, Direct, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  AnswersRaw,
  FormFiles,
  LargeBody,
  NoEnvelope,
  ReadsJson,
  ReceivesForm,
  WhileConnected,
  whileConnected,
} from '../../platform/http/index.js';
import type { FormFile } from '../../platform/http/index.js';
import { reportingCall, requestIdHeader, VERSION } from '../answer/answer.js';
import { ModelsQuery } from '../anthropic/anthropic.dto.js';
import { AnthropicModelsView, AnthropicModelView } from '../anthropic/anthropic.view.js';
import { ApiAnswers } from '../answer/api-answers.js';
import { FileReferences } from '../files/file-references.js';
import { CompletionRequest } from './chat-completions.protocol.js';
import {
  ChatCompletionBody,
  EmbeddingsBody,
  IMAGE_EDIT_FORM,
  ImageEditBody,
  ImageGenerationBody,
  ModerationBody,
  RerankBody,
  SpeechGenerationBody,
  TextCompletionBody,
  TRANSCRIPTION_FORM,
  TranscriptionBody,
  TRANSLATION_FORM,
} from './openai.dto.js';
import { OpenAiCompletions } from './openai.completions.js';
import { OpenAiEmbeddings } from './openai.embeddings.js';
import { OpenAiMedia } from './openai.media.js';
import { OpenAiModels } from './openai.models.js';
import { OpenAiModeration } from './openai.moderation.js';
import { OpenAiRerank } from './openai.rerank.js';
import { OpenAiTranscription } from './openai.transcription.js';
import {
  CHAT_COMPLETION_SCHEMA,
  EmbeddingsView,
  ImagesView,
  MODERATIONS_SCHEMA,
  OpenAiModelsView,
  OpenAiModelView,
  RerankView,
  TEXT_COMPLETION_SCHEMA,
  TRANSCRIPT_SCHEMA,
} from './openai.view.js';

/** The interface of OpenAI for its clients: HTTP statuses and its form of errors instead of the envelope. */
@ApiTags('openai')
@Controller('v1')
@NoEnvelope()
export class OpenAiController {
  constructor(
    private readonly models: OpenAiModels,
    private readonly answers: ApiAnswers,
    private readonly completions: OpenAiCompletions,
    private readonly embeddings: OpenAiEmbeddings,
    private readonly reranking: OpenAiRerank,
    private readonly media: OpenAiMedia,
    private readonly moderation: OpenAiModeration,
    private readonly transcription: OpenAiTranscription,
    private readonly files: FileReferences,
  ) {}

  /** The models and agents that the caller can use; in the form of Anthropic for a client that sends anthropic-version. */
  @Get('models')
  @LoginOnly({ apiKey: 'any' })
  @ApiExtraModels(OpenAiModelsView, AnthropicModelsView)
  @ApiOkResponse({
    schema: {
      oneOf: [
        { $ref: getSchemaPath(OpenAiModelsView) },
        { $ref: getSchemaPath(AnthropicModelsView) },
      ],
    },
  })
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: ModelsQuery,
    @Headers(VERSION) version: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OpenAiModelsView | AnthropicModelsView> {
    if (version === undefined) return this.models.list(caller);
    response.set(requestIdHeader());
    return this.models.listForMessages(caller, query);
  }

  /** One of them. */
  @Get('models/:id')
  @LoginOnly({ apiKey: 'any' })
  @ApiExtraModels(OpenAiModelView, AnthropicModelView)
  @ApiOkResponse({
    schema: {
      oneOf: [
        { $ref: getSchemaPath(OpenAiModelView) },
        { $ref: getSchemaPath(AnthropicModelView) },
      ],
    },
  })
  get(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Headers(VERSION) version: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OpenAiModelView | AnthropicModelView> {
    if (version === undefined) return this.models.get(caller, id);
    response.set(requestIdHeader());
    return this.models.getForMessages(caller, id);
  }

  /** Answers a conversation, as a stream with stream: true. Nothing is stored. */
  @Post('chat/completions')
  @Direct()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({
    description: 'The completion, or its chunks as server-sent events',
    content: {
      'application/json': { schema: CHAT_COMPLETION_SCHEMA },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  async complete(
    @CurrentCaller() caller: Caller,
    @Body() body: ChatCompletionBody,
    @Res() response: Response,
  ): Promise<void> {
    const request = CompletionRequest.of(await this.files.inCompletion(caller, body));
    await this.answers.answer(caller, request, response);
  }

  /** Goes on with a text, or fills in what is missing before a suffix. */
  @Post('completions')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({
    description: 'The completion, or its chunks as server-sent events',
    content: {
      'application/json': { schema: TEXT_COMPLETION_SCHEMA },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  completeText(
    @CurrentCaller() caller: Caller,
    @Body() body: TextCompletionBody,
    @Res() response: Response,
  ): Promise<void> {
    return this.completions.answer(caller, body, response);
  }

  /** Vectors of texts. */
  @Post('embeddings')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({ type: EmbeddingsView })
  embed(
    @CurrentCaller() caller: Caller,
    @Body() body: EmbeddingsBody,
    @Res({ passthrough: true }) response: Response,
    @WhileConnected() signal: AbortSignal,
  ): Promise<EmbeddingsView> {
    return reportingCall(caller, response, (call) =>
      this.embeddings.embed(caller, body, { signal, ...call }),
    );
  }

  /** Orders documents by their relevance to a query. */
  @Post('rerank')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({ type: RerankView })
  rerank(
    @CurrentCaller() caller: Caller,
    @Body() body: RerankBody,
    @Res({ passthrough: true }) response: Response,
    @WhileConnected() signal: AbortSignal,
  ): Promise<RerankView> {
    return reportingCall(caller, response, (call) =>
      this.reranking.rerank(caller, body, { signal, ...call }),
    );
  }

  /** Says which texts and images offend, and in what way. */
  @Post('moderations')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({ schema: MODERATIONS_SCHEMA })
  moderate(
    @CurrentCaller() caller: Caller,
    @Body() body: ModerationBody,
    @Res({ passthrough: true }) response: Response,
    @WhileConnected() signal: AbortSignal,
  ): Promise<object> {
    return reportingCall(caller, response, (call) =>
      this.moderation.moderate(caller, body, { signal, ...call }),
    );
  }

  /** Draws images. */
  @Post('images/generations')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'media:media:use' })
  @ApiOkResponse({ type: ImagesView })
  image(
    @CurrentCaller() caller: Caller,
    @Body() body: ImageGenerationBody,
    @Res({ passthrough: true }) response: Response,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<ImagesView> {
    return reportingCall(caller, response, (call) =>
      this.media.image(caller, body, { disconnected, ...call }),
    );
  }

  /** Changes images, which come as the files of a form, or in JSON by their addresses. */
  @Post('images/edits')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'media:media:use' })
  @LargeBody()
  @ReceivesForm(IMAGE_EDIT_FORM)
  @ReadsJson(ImageEditBody)
  @ApiOkResponse({ type: ImagesView })
  edit(
    @CurrentCaller() caller: Caller,
    @Body() body: ImageEditBody,
    @FormFiles() files: readonly FormFile[],
    @Res({ passthrough: true }) response: Response,
  ): Promise<ImagesView> {
    const disconnected = whileConnected(response);
    return reportingCall(caller, response, (call) =>
      this.media.edit(caller, body, files, { disconnected, ...call }),
    );
  }

  /** Speaks a text. */
  @Post('audio/speech')
  @LoginOnly({ apiKey: 'media:media:use' })
  @AnswersRaw('audio/*', 'The sound in its own type')
  speak(
    @CurrentCaller() caller: Caller,
    @Body() body: SpeechGenerationBody,
    @Res() response: Response,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<void> {
    return this.media.speech(caller, body, { response, disconnected });
  }

  /** Writes down what is said in a sound, piece by piece with stream: true. */
  @Post('audio/transcriptions')
  @LoginOnly({ apiKey: 'media:media:use' })
  @ReceivesForm(TRANSCRIPTION_FORM)
  @ApiOkResponse(TRANSCRIPT_SCHEMA)
  transcribe(
    @CurrentCaller() caller: Caller,
    @Body() body: TranscriptionBody,
    @FormFiles() files: readonly FormFile[],
    @Res() response: Response,
  ): Promise<void> {
    return this.transcription.answer(caller, { task: 'transcribe', body, files }, response);
  }

  /** Transcribes audio of any language into English. */
  @Post('audio/translations')
  @LoginOnly({ apiKey: 'media:media:use' })
  @ReceivesForm(TRANSLATION_FORM)
  @ApiOkResponse(TRANSCRIPT_SCHEMA)
  translate(
    @CurrentCaller() caller: Caller,
    @Body() body: TranscriptionBody,
    @FormFiles() files: readonly FormFile[],
    @Res() response: Response,
  ): Promise<void> {
    return this.transcription.answer(caller, { task: 'translate', body, files }, response);
  }
}
