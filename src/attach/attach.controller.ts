import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersPage,
  AnswersFile,
  AnswersStatus,
  FailsWithArray,
  IdPipe,
  IdsPipe,
  NoEnvelope,
  WithExport,
} from '../platform/http/index.js';
import type { Answer, Page } from '../platform/http/index.js';
import { ReceivedFiles, ReceivesFiles, sendAttachment } from '../platform/storage/index.js';
import type { UploadedPart } from '../platform/storage/index.js';
import {
  AttachListQuery,
  CreateAttachmentBody,
  MetadataBody,
  UpdateAttachmentBody,
  UploadBody,
} from './attach.dto.js';
import { AttachService } from './attach.service.js';
import {
  attachmentSheet,
  AttachmentView,
  MetadataKeyView,
  ReparseView,
  UploadedAttachmentView,
  UploadLimitsView,
} from './attach.view.js';

@ApiTags('attachments')
@Controller('system/attach')
export class AttachController {
  constructor(private readonly attachments: AttachService) {}

  /** The documents of the knowledge bases that the caller may read, newest first. */
  @Get('list')
  @RequirePermission('system:attach:list')
  @AnswersPage(AttachmentView)
  @WithExport(attachmentSheet, RequirePermission('system:attach:export'))
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: AttachListQuery,
  ): Promise<Page<AttachmentView>> {
    return this.attachments.list(caller, query);
  }

  /** The keys of metadata that the documents of a knowledge base have, for a form that makes filters. */
  @Get('metadata/:knowledgeId')
  @RequirePermission('system:attach:list')
  @AnswersArray(MetadataKeyView)
  metadataKeys(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
  ): Promise<MetadataKeyView[]> {
    return this.attachments.metadataKeys(caller, knowledgeId);
  }

  /** Limits of an upload, for a form that checks files before it sends them. */
  @Get('limits')
  @RequirePermission('system:attach:list')
  @Answers(UploadLimitsView)
  limits(): UploadLimitsView {
    return this.attachments.uploadLimits();
  }

  /** One document. */
  @Get(':id')
  @RequirePermission('system:attach:query')
  @Answers(AttachmentView)
  get(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<AttachmentView> {
    return this.attachments.get(caller, id);
  }

  /** The source file of a document, as an attachment. The token may stand in the query. */
  @Get(':id/content')
  @NoEnvelope()
  @RequirePermission('system:attach:query', { tokenInQuery: true })
  @AnswersFile('application/octet-stream', 'The source file, as an attachment')
  async content(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Res() response: Response,
  ): Promise<void> {
    await sendAttachment(response, await this.attachments.open(caller, id));
  }

  /**
   * Adds files, the parts named `file`, to a knowledge base. `data` has the outcome of each; if any was not stored,
   * `code` is that of the first such.
   */
  @Post('upload')
  @RequirePermission('system:attach:add')
  @ReceivesFiles({
    knowledgeId: { type: 'integer', description: 'The knowledge base that gets the documents' },
    autoParse: { type: 'boolean', description: 'Parse them at once' },
    metadata: {
      type: 'string',
      description: 'JSON of the metadata of all files, such as {"department":"sales"}',
    },
    readers: {
      type: 'string',
      description: 'JSON of the subjects that may read the files, such as ["group:9"]',
    },
  })
  @AnswersArray(UploadedAttachmentView)
  @FailsWithArray(UploadedAttachmentView)
  upload(
    @CurrentCaller() caller: Caller,
    @Body() body: UploadBody,
    @ReceivedFiles() files: UploadedPart[],
  ): Promise<UploadedAttachmentView[]> {
    return this.attachments.upload(caller, body, files);
  }

  /** Makes a text that was written in an editor a document of a knowledge base, and requests its parsing. */
  @Post()
  @RequirePermission('system:attach:add')
  @Answers(AttachmentView)
  write(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateAttachmentBody,
  ): Promise<AttachmentView> {
    return this.attachments.write(caller, body);
  }

  /** Renames a document or changes its remark. */
  @Put()
  @RequirePermission('system:attach:edit')
  @AnswersStatus()
  update(@CurrentCaller() caller: Caller, @Body() body: UpdateAttachmentBody): Promise<void> {
    return this.attachments.update(caller, body);
  }

  /** Replaces the metadata of a document. It counts from the next search on; nothing is parsed again. */
  @Put(':id/metadata')
  @RequirePermission('system:attach:edit')
  @Answers(AttachmentView)
  updateMetadata(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Body() body: MetadataBody,
  ): Promise<AttachmentView> {
    return this.attachments.updateMetadata(caller, id, body);
  }

  /** Requests the parsing of a document. Its `status` shows the progress. */
  @Post('parse/:id')
  @RequirePermission('system:attach:edit')
  @AnswersStatus()
  parse(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<Answer<null>> {
    return this.attachments.parse(caller, id);
  }

  /** Requests the parsing of every document of a knowledge base. */
  @Post('reparse/knowledge/:knowledgeId')
  @RequirePermission('system:attach:edit')
  @Answers(ReparseView)
  reparseAll(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
  ): Promise<Answer<ReparseView>> {
    return this.attachments.reparseAll(caller, knowledgeId);
  }

  /** Requests the parsing of the documents of a knowledge base whose parsing has failed. */
  @Post('retry-failed/:knowledgeId')
  @RequirePermission('system:attach:edit')
  @Answers(ReparseView)
  retryFailed(
    @CurrentCaller() caller: Caller,
    @Param('knowledgeId', IdPipe) knowledgeId: number,
  ): Promise<Answer<ReparseView>> {
    return this.attachments.retryFailed(caller, knowledgeId);
  }

  /** Cancels the parsing of a document, whether it runs or waits. */
  @Post(':id/cancel')
  @RequirePermission('system:attach:edit')
  @AnswersStatus()
  cancel(@CurrentCaller() caller: Caller, @Param('id', IdPipe) id: number): Promise<void> {
    return this.attachments.cancel(caller, id);
  }

  /** Deletes documents with their fragments, vectors and files. */
  @Delete(':ids')
  @RequirePermission('system:attach:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.attachments.remove(caller, ids);
  }
}
