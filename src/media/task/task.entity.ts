import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  TenantId,
  UpdateTime,
  Varchar,
  nullable,
} from '../../platform/database/index.js';

/** Length of the beginning of what the user said that is kept. */
export const EXCERPT_LENGTH = 200;

/** Work that a model service does for a user, in the state of the last lookup. Only the service knows where the result is. */
@Entity({ name: 'media_task' })
export class MediaTask {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;

  /** The id of the model; null when it was deleted. */
  @Bigint(nullable) modelId: number | null;
  @Varchar(200) modelName: string;

  /** image, audio or video. */
  @Varchar(10) kind: string;
  @Varchar(200) providerTaskId: string;

  /** The service's own word; null when it has said none. */
  @Varchar(50, nullable) status: string | null;
  @Varchar(EXCERPT_LENGTH) excerpt: string;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
