import { Entity } from 'typeorm';
import { Bigint, CreateTime, primary, TenantId, Text } from '../../platform/database/index.js';

/** The text of a small document that was sent in a chat; it is deleted with the file. */
@Entity({ name: 'chat_file_text' })
export class ChatFileText {
  @Bigint(primary) fileId: number;
  @TenantId() tenantId: string;
  @Text() content: string;
  @CreateTime() createTime: Date;
}
