import { PageQuery, Text } from '../http/index.js';

export class StoredFileListQuery extends PageQuery {
  @Text({ optional: true, max: 255, description: 'Part of the name' })
  originalName?: string;

  @Text({ optional: true, max: 255, description: 'Same as originalName' })
  fileName?: string;

  @Text({ optional: true, max: 20, example: '.png' })
  fileSuffix?: string;
}
