import { Entity } from 'typeorm';
import {
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Revision,
  UpdateTime,
  Varchar,
  nullable,
} from '../../platform/database/index.js';

/** An application that may sign users in. Clients belong to the installation, not to a tenant. */
@Entity({ name: 'client' })
export class Client {
  @GeneratedId() id: number;
  @Varchar(64) clientId: string;
  @Varchar(32) clientKey: string;

  /** SHA-256 of the secret, in hex. */
  @Varchar(255) clientSecret: string;

  /** Comma-separated grant types. */
  @Varchar(255) grantType: string;
  @Varchar(32, nullable) deviceType: string | null;

  /** Seconds without a request after which a sign-in ends. */
  @Integer() activeTimeout: number;

  /** Seconds after which a sign-in ends in any case. */
  @Integer() timeout: number;
  @Char(1) status: string;

  /** Parts that message texts include for clients that read nothing but the text. */
  @Flag({ default: false }) inlineThinking: boolean;
  @Flag({ default: false }) inlineSources: boolean;
  @Flag({ default: false }) inlineFailures: boolean;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
