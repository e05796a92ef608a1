import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  GeneratedId,
  TenantId,
  Varchar,
  nullable,
} from '../database/index.js';

/** The record of an uploaded file; its content is in the FileStorage under the key. */
@Entity({ name: 'stored_file' })
export class StoredFile {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint(nullable) userId: number | null;
  @Varchar(200) storageKey: string;
  @Varchar(255) originalName: string;
  @Varchar(20) fileSuffix: string;
  @Varchar(100) mimeType: string;
  @Bigint() byteSize: number;
  @Char(64) sha256: string;
  @Varchar(20) service: string;

  /** The kind of record that the file is part of; null for an independent file. */
  @Varchar(30, nullable) belongsTo: string | null;

  /** The process that stored the content; null for files of an earlier release. */
  @Varchar(200, nullable) storedBy: string | null;
  @CreateTime() createTime: Date;
}
