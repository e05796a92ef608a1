import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Query,
  Res,
} from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Type } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import { CurrentCaller, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AnswersRaw, NoEnvelope } from '../../platform/http/index.js';
import { ReceivedFiles, ReceivesFiles, sendAttachment } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import { requestIdHeader, VERSION } from '../answer/answer.js';
import { parameters, plainText } from '../answer/parameters.js';
import { FILE_FIELDS, FilesQuery, FileUploadBody } from './api-files.dto.js';
import { ApiFiles } from './api-files.service.js';
import {
  AnthropicDeletedFileView,
  anthropicFile,
  AnthropicFilesView,
  AnthropicFileView,
  endsOf,
  OpenAiDeletedFileView,
  openAiFile,
  OpenAiFilesView,
  OpenAiFileView,
} from './api-files.view.js';

const filesQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).max(10_000).default(10_000),
  after: plainText(100).optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  purpose: plainText(50).optional(),
});
const messagesQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
  page: plainText(100).optional(),
  after_id: plainText(100).optional(),
});

/** Two views of one route: that of OpenAI, and that of Anthropic for clients that send anthropic-version. */
const AnswersEither = (...views: readonly Type[]): MethodDecorator & ClassDecorator =>
  ApiOkResponse({ schema: { oneOf: views.map((view) => ({ $ref: getSchemaPath(view) })) } });

/** Files that requests and batches name by their ids, and results of batches. */
@ApiTags('openai')
@ApiExtraModels(OpenAiFileView, OpenAiFilesView, OpenAiDeletedFileView)
@ApiExtraModels(AnthropicFileView, AnthropicFilesView, AnthropicDeletedFileView)
@Controller('v1/files')
@NoEnvelope()
export class ApiFilesController {
  constructor(private readonly files: ApiFiles) {}

  /** Stores the file of a form. */
  @Post()
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @ReceivesFiles(FILE_FIELDS)
  @AnswersEither(OpenAiFileView, AnthropicFileView)
  async upload(
    @CurrentCaller() caller: Caller,
    @Body() body: FileUploadBody,
    @ReceivedFiles() received: readonly UploadedPart[],
    @Res({ passthrough: true }) response: Response,
  ): Promise<OpenAiFileView | AnthropicFileView> {
    const version = response.req.headers[VERSION];
    if (version === undefined) return openAiFile(await this.files.upload(caller, body, received));
    response.set(requestIdHeader());
    return anthropicFile(await this.files.uploadForMessages(caller, body, received));
  }

  /** The own files, newest first. */
  @Get()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersEither(OpenAiFilesView, AnthropicFilesView)
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: FilesQuery,
    @Headers(VERSION) version: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OpenAiFilesView | AnthropicFilesView> {
    if (version !== undefined) {
      response.set(requestIdHeader());
      return this.listForMessages(caller, query);
    }
    const page = parameters(filesQuery, query);
    const { files, hasMore } = await this.files.page(caller, page, 'after');
    const data = files.map(openAiFile);
    return { object: 'list', data, ...endsOf(data), has_more: hasMore };
  }

  /** One of them. */
  @Get(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersEither(OpenAiFileView, AnthropicFileView)
  async get(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Headers(VERSION) version: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OpenAiFileView | AnthropicFileView> {
    const file = await this.files.get(caller, id);
    if (version === undefined) return openAiFile(file);
    response.set(requestIdHeader());
    return anthropicFile(file);
  }

  /** Deletes it with its content. */
  @Delete(':id')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersEither(OpenAiDeletedFileView, AnthropicDeletedFileView)
  async remove(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Headers(VERSION) version: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<OpenAiDeletedFileView | AnthropicDeletedFileView> {
    await this.files.remove(caller, id);
    if (version === undefined) return { id, object: 'file', deleted: true };
    response.set(requestIdHeader());
    return { id, type: 'file_deleted' };
  }

  /** Downloads a file's content unchanged. */
  @Get(':id/content')
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @AnswersRaw('application/octet-stream', 'The content in its own type')
  async content(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res() response: Response,
  ): Promise<void> {
    await sendAttachment(response, await this.files.open(caller, id));
  }

  private async listForMessages(caller: Caller, query: FilesQuery): Promise<AnthropicFilesView> {
    const { limit, page, after_id: afterId } = parameters(messagesQuery, query);
    const after = page ?? afterId;
    const param = page === undefined ? 'after_id' : 'page';
    const { files, hasMore } = await this.files.page(caller, { limit, after }, param);
    const data = files.map(anthropicFile);
    const ends = endsOf(data);
    return { data, has_more: hasMore, ...ends, next_page: hasMore ? ends.last_id : null };
  }
}
