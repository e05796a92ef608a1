import { Input, pageFields, Text } from '../http/index.js';

export class StoredFileListQuery extends Input({
  ...pageFields,
  originalName: Text({ optional: true, max: 255, description: 'Part of the name' }),
  fileName: Text({ optional: true, max: 255, description: 'Same as originalName' }),
  fileSuffix: Text({ optional: true, max: 20, example: '.png' }),
}) {}
