import { DomainError } from '../../platform/error/index.js';

/** The model answers vectors of another size than its record says. Nothing of them may be stored. */
export class EmbeddingDimensionError extends DomainError {
  readonly code = 500;

  constructor(modelName: string, said: number | undefined, dimension: number) {
    super(
      `The model ${modelName} answers ${dimension} dimensions, but its modelDimension is ${said ?? 'empty'}. Set modelDimension of this model to ${dimension}, or choose another model.`,
      { data: { modelDimension: said ?? null, dimension } },
    );
  }
}
