import { Injectable } from '@nestjs/common';
import { KnowledgeContents } from '../knowledge/index.js';
import { FragmentVectors } from './fragment.vectors.js';

/** Takes the vectors away with the records that foreign keys take the fragments away with. */
@Injectable()
export class FragmentContents {
  constructor(contents: KnowledgeContents, vectors: FragmentVectors) {
    contents.join({
      deleting: (_caller, base) => vectors.removeKnowledge(base),
      // Until a document is parsed again, no vector is better than one of another model.
      reindex: async (_caller, base, before) => {
        if (!vectors.areShared(base, before)) await vectors.removePresent(before);
      },
    });
  }
}
