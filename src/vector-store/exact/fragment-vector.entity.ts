import { Entity } from 'typeorm';
import { Bigint, Bytea, Integer, TenantId, primary } from '../../platform/database/index.js';

/** One vector of the exact store. */
@Entity({ name: 'fragment_vector' })
export class FragmentVector {
  @Bigint(primary) knowledgeId: number;
  @TenantId(primary) tenantId: string;
  @Bigint(primary) fragmentId: number;
  @Bigint() attachmentId: number;
  @Integer() dimension: number;

  /** A new random number of 48 bits each time the row is written; see vector.repository.ts. */
  @Bigint() stamp: number;

  /** Little-endian 32-bit floats. */
  @Bytea() vector: Buffer;
}

/**
 * A random number that each change of the vectors of one dimension of a base leaves, in place of earlier ones; triggers
 * write it. A set has as many as transactions have changed it at the same time.
 */
@Entity({ name: 'vector_revision' })
export class VectorRevision {
  @Bigint(primary) knowledgeId: number;
  @TenantId(primary) tenantId: string;
  @Integer(primary) dimension: number;
  @Bigint(primary) stamp: number;
}
