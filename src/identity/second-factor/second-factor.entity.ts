import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  GeneratedId,
  TenantId,
  Text,
  Timestamp,
  Varchar,
  nullable,
  primary,
} from '../../platform/database/index.js';

/** The kinds of second factors: an authenticator app (RFC 6238), or a security key or passkey. */
export const FACTOR_KINDS = ['totp', 'webauthn'] as const;
export type FactorKind = (typeof FACTOR_KINDS)[number];

/** A confirmed second factor of a user. */
@Entity({ name: 'second_factor' })
export class SecondFactor {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(10) kind: FactorKind;
  /** Chosen by the user. */
  @Varchar(100) name: string;
  /** The encrypted TOTP secret; null for a WebAuthn credential. */
  @Text(nullable) secret: string | null;
  /** The id of a WebAuthn credential in base64url. */
  @Varchar(1400, nullable) credentialId: string | null;
  /** The COSE key of a WebAuthn credential in base64url. */
  @Text(nullable) publicKey: string | null;
  /** How a browser reaches the device of a WebAuthn credential: usb, nfc, internal, … */
  @Text({ array: true, default: '{}' }) transports: string[];
  /** The last accepted time step (TOTP) or signature counter (WebAuthn). Earlier ones are refused. */
  @Bigint({ default: 0 }) counter: number;
  @Timestamp(nullable) lastUsedTime: Date | null;
  @CreateTime() createTime: Date;
}

/** An unused recovery code. */
@Entity({ name: 'recovery_code' })
export class RecoveryCode {
  @TenantId() tenantId: string;
  @Bigint(primary) userId: number;
  /** SHA-256 of tenant, user and code. */
  @Char(64, primary) digest: string;
}
