import { Flag, Ids, OneOf, Text, Whole } from '../../../platform/http/index.js';

export class RunDiffQuery {
  @OneOf(['unified', 'json'], {
    optional: true,
    description: 'One text, or file by file; unified when not given',
  })
  format?: 'unified' | 'json';

  @Text({ optional: true, max: 4_096, description: 'Only this file, or what lies in this folder' })
  path?: string;
}

export class ArtifactContentQuery {
  @Whole({ optional: true, min: 0, description: 'First byte; 0 when not given' })
  offset?: number;

  @Whole({ optional: true, min: 1, description: 'Bytes at most; to the end when not given' })
  length?: number;
}

export class UndoBody {
  @Ids({ optional: true, description: 'Changes of the run (see …/files); without them, all' })
  changeIds?: number[];

  @Flag({
    optional: true,
    description: 'Leave out the files that are in the way, instead of refusing everything',
  })
  force?: boolean;
}
