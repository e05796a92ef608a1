import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  nullable,
  TenantId,
  Timestamp,
  Varchar,
} from '../../platform/database/index.js';

/** A file of /v1/files, its user's alone. Its content is a stored file of its own. */
@Entity({ name: 'api_file' })
export class ApiFile {
  /** In the order of the lists. */
  @GeneratedId() number: number;
  @Varchar(50) id: string;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Bigint(nullable) apiKeyId: number | null;
  @Bigint() fileId: number;
  @Varchar(30) purpose: string;
  @Varchar(255) fileName: string;
  @Varchar(100) mimeType: string;
  @Bigint() byteSize: number;
  @CreateTime() createTime: Date;
  /** Null: kept until it is deleted. */
  @Timestamp(nullable) expireTime: Date | null;
}
