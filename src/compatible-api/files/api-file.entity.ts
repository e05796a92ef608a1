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

/** A file of /v1/files, visible only to its owner. Its content is a separate stored file. */
@Entity({ name: 'api_file' })
export class ApiFile {
  /** Sequence number that orders lists. */
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
  /** Null keeps the file until it is deleted. */
  @Timestamp(nullable) expireTime: Date | null;
}
