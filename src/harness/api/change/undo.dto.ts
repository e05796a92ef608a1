import { Flag, Ids } from '../../../platform/http/index.js';

export class UndoBody {
  @Ids({ optional: true, description: 'Changes of the run (see …/files); without them, all' })
  changeIds?: number[];

  @Flag({
    optional: true,
    description: 'Leave out the files that are in the way, instead of refusing everything',
  })
  force?: boolean;
}
