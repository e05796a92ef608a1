import { Input, integer, nullable, pageFields, Text, text, time, View } from '../http/index.js';
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
}) {}

const uploadFields = {
  url: text({ example: '/resource/oss/download/1' }),
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
  const createByName = userNames.get(file.userId ?? 0) ?? null;
  return StoredFileView.of(file, { ...toUploadView(file), createBy: file.userId, createByName });
}
