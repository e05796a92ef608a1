import { ApiProperty } from '@nestjs/swagger';
import { text, View, wireTime } from '../http/index.js';
import type { StoredFile } from './storage.entity.js';

export class UploadView extends View({
  url: text({ example: '/resource/oss/download/1' }),
  fileName: text({ example: 'logo.png' }),
  ossId: text({ example: '1' }),
}) {}

export class StoredFileView extends UploadView {
  @ApiProperty({ example: 'logo.png' })
  originalName: string;

  @ApiProperty({ example: '.png' })
  fileSuffix: string;

  @ApiProperty({ example: 'image/png', description: 'By content, independent of the name' })
  mimeType: string;

  @ApiProperty({ type: 'integer', example: 1024 })
  byteSize: number;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @ApiProperty({ type: 'integer', nullable: true })
  createBy: number | null;

  @ApiProperty({ type: String, nullable: true, example: 'admin' })
  createByName: string | null;

  @ApiProperty({ example: 'local', description: 'The storage of the content' })
  service: string;
}

export function toUploadView(file: Pick<StoredFile, 'id' | 'originalName'>): UploadView {
  return {
    url: `/resource/oss/download/${file.id}`,
    fileName: file.originalName,
    ossId: String(file.id),
  };
}

export function toStoredFileView(
  file: StoredFile,
  userNames: ReadonlyMap<number, string>,
): StoredFileView {
  return {
    ...toUploadView(file),
    originalName: file.originalName,
    fileSuffix: file.fileSuffix,
    mimeType: file.mimeType,
    byteSize: file.byteSize,
    createTime: wireTime(file.createTime),
    createBy: file.userId,
    createByName: file.userId === null ? null : (userNames.get(file.userId) ?? null),
    service: file.service,
  };
}
