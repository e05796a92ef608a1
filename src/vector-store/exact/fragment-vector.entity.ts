import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One vector of the exact store. */
@Entity({ name: 'fragment_vector' })
export class FragmentVector {
  @PrimaryColumn({ type: 'bigint' })
  knowledgeId: number;

  @PrimaryColumn({ type: 'varchar', length: 20 })
  tenantId: string;

  @PrimaryColumn({ type: 'bigint' })
  fragmentId: number;

  @Column({ type: 'bigint' })
  attachmentId: number;

  @Column({ type: 'integer' })
  dimension: number;

  /** A new random number of 48 bits each time the row is written; see exact.repository.ts. */
  @Column({ type: 'bigint' })
  stamp: number;

  /** Little-endian 32-bit floats. */
  @Column({ type: 'bytea' })
  vector: Buffer;
}
