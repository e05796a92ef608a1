import { Entity } from 'typeorm';
import {
  Bigint,
  Flag,
  nullable,
  primary,
  TenantId,
  Varchar,
} from '../../platform/database/index.js';

/** The attributes of a user that a directory provides beyond those that every user has. */
@Entity({ name: 'provisioned_user' })
export class ProvisionedUser {
  @Bigint(primary) userId: number;
  @TenantId() tenantId: string;
  /** The id of the user in the directory, unique in the tenant. */
  @Varchar(255, nullable) externalId: string | null;
  @Varchar(64, nullable) givenName: string | null;
  @Varchar(64, nullable) familyName: string | null;
  /** Whether the directory has created the user; false for a user who existed before. */
  @Flag() created: boolean;
}
