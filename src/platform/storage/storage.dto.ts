import {
  Input,
  integer,
  nullable,
  pageFields,
  Text,
  text,
  time,
  TimeRangeField,
  View,
} from '../http/index.js';
import type { StoredFile } from './storage.entity.js';

export class StoredFileListQuery extends Input({
  ...pageFields('originalName', 'fileSuffix', 'mimeType', 'byteSize', 'createTime', 'service', {
    ossId: 'id',
    fileName: 'originalName',
    createBy: 'userId',
  }),
  originalName: Text({ optional: true, max: 255, description: 'Part of the name' }),
  fileName: Text({ optional: true, max: 255, description: 'Same as originalName' }),
  fileSuffix: Text({ optional: true, max: 20, example: '.png' }),
  mimeType: Text({
    optional: true,
    max: 100,
    example: 'image/',
    description: 'Beginning of the type',
  }),
  service: Text({ optional: true, max: 20, description: 'The storage of the content' }),
  params: TimeRangeField(),
}) {}

const uploadFields = {
  url: text({
    example: 'https://ai.example.com/resource/oss/shared/000000.1.0.c2lnbmF0dXJl/logo.png',
    description:
      'Opens the file without a sign-in. That of an image which is not part of another record does not expire; others are valid for an hour',
  }),
  fileName: text({ example: 'logo.png' }),
  ossId: text({ example: '1' }),
};

export class UploadView extends View(uploadFields) {}

export class StoredFileView extends View({
  ...uploadFields,
  originalName: text({ example: 'logo.png' }),
  fileSuffix: text({ example: '.png' }),
  mimeType: text({ example: 'image/png', description: 'By content, independent of the name' }),
  byteSize: integer({ example: 1024 }),
  createTime: time(),
  createBy: nullable(integer()),
  createByName: nullable(text({ example: 'admin' })),
  service: text({ example: 'local', description: 'The storage of the content' }),
}) {}

export function toUploadView(
  file: Pick<StoredFile, 'id' | 'originalName'>,
  url: string,
): UploadView {
  return {
    url,
    fileName: file.originalName,
    ossId: String(file.id),
  };
}

export function toStoredFileView(
  file: StoredFile,
  url: string,
  userNames: ReadonlyMap<number, string>,
): StoredFileView {
  const createByName = userNames.get(file.userId ?? 0) ?? null;
  return StoredFileView.of(file, {
    ...toUploadView(file, url),
    createBy: file.userId,
    createByName,
  });
}
