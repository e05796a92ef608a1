import { Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, Public, RequirePermission } from '../access/index.js';
import type { Caller } from '../access/index.js';
import {
  Answers,
  AnswersArray,
  AnswersFile,
  AnswersPage,
  AnswersStatus,
  IdPipe,
  IdsPipe,
  NoEnvelope,
  AnswersRaw,
} from '../http/index.js';
import type { Page } from '../http/index.js';
import { sendAttachment, sendShared } from './download.js';
import { StoredFileListQuery, StoredFileView, UploadView } from './storage.dto.js';
import { StorageService } from './storage.service.js';
import type { UploadedPart } from './file-storage.js';
import { ReceivedFiles, ReceivesFiles } from './upload.interceptor.js';

@ApiTags('files')
@Controller('resource/oss')
export class StorageController {
  constructor(private readonly files: StorageService) {}

  /** The files of the caller's tenant, newest first; those of documents are listed with their knowledge bases. */
  @Get('list')
  @RequirePermission('system:oss:list')
  @AnswersPage(StoredFileView)
  list(
    @CurrentCaller() caller: Caller,
    @Query() query: StoredFileListQuery,
  ): Promise<Page<StoredFileView>> {
    return this.files.list(caller, query);
  }

  /** The files with these ids that exist, in the requested order. */
  @Get('listByIds/:ids')
  @RequirePermission('system:oss:query')
  @AnswersArray(StoredFileView)
  listByIds(
    @CurrentCaller() caller: Caller,
    @Param('ids', IdsPipe) ids: number[],
  ): Promise<StoredFileView[]> {
    return this.files.listByIds(caller, ids);
  }

  /** The content of a file, as an attachment. The token may be in the query. */
  @Get('download/:id')
  @NoEnvelope()
  @RequirePermission('system:oss:download', { tokenInQuery: true })
  @AnswersFile('application/octet-stream', 'The file, as an attachment')
  async download(
    @CurrentCaller() caller: Caller,
    @Param('id', IdPipe) id: number,
    @Res() response: Response,
  ): Promise<void> {
    await sendAttachment(response, await this.files.openFor(caller, id));
  }

  /**
   * The file of a signed address, as upload and lists answer it: images for pages as such, others as an attachment. The last
   * part of the path is only shown.
   */
  @Get('shared/:fileToken/:shownName')
  @NoEnvelope()
  @Public()
  @AnswersRaw('application/octet-stream', 'The file')
  async shared(
    @Param('fileToken') fileToken: string,
    @Param('shownName') _shownName: string,
    @Res() response: Response,
  ): Promise<void> {
    await sendShared(response, await this.files.openShared(fileToken));
  }

  /** Stores one file, the part named `file`. */
  @Post('upload')
  @RequirePermission('system:oss:upload')
  @ReceivesFiles()
  @Answers(UploadView)
  upload(
    @CurrentCaller() caller: Caller,
    @ReceivedFiles() files: UploadedPart[],
  ): Promise<UploadView> {
    return this.files.upload(caller, files);
  }

  /** Deletes files with their records. A file that is part of another record is refused. */
  @Delete(':ids')
  @RequirePermission('system:oss:remove')
  @AnswersStatus()
  remove(@CurrentCaller() caller: Caller, @Param('ids', IdsPipe) ids: number[]): Promise<void> {
    return this.files.remove(caller, ids);
  }
}
