import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, TextSealer } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { UnreadableCredentialError } from './model.errors.js';

/** Decides which tenants may call models with the identity that the cloud gave to this host. */
@Injectable()
export class HostIdentity {
  private readonly tenants: readonly string[];

  constructor(@Inject(CONFIG) config: Config) {
    this.tenants = config.HOST_IDENTITY_TENANTS;
  }

  isAllowed(tenantId: string): boolean {
    return this.tenants.includes('*') || this.tenants.includes(tenantId);
  }
}

/** The record that stores a credential, which can be read from nowhere else. */
export interface CredentialPlace {
  readonly tenantId: string;
  readonly recordKind: string;
  readonly recordId: number;
}

export function modelPlace(tenantId: string, recordId: number): CredentialPlace {
  return { tenantId, recordKind: 'model', recordId };
}

export function modelKeyPlace(tenantId: string, recordId: number): CredentialPlace {
  return { tenantId, recordKind: 'model_key', recordId };
}

/** Encrypts credentials for the database, bound to their tenant and record. */
@Injectable()
export class CredentialVault {
  private readonly sealer: TextSealer;

  constructor(@Inject(CONFIG) config: Config) {
    this.sealer = new TextSealer(config.encryptionKeys);
  }

  /** The prefix of texts sealed with the previous key; undefined without a previous key. */
  get previousPrefix(): string | undefined {
    return this.sealer.previousPrefix;
  }

  seal(place: CredentialPlace, credential: string): string {
    return this.sealer.seal(textOf(place), credential);
  }

  /** The credential. UnreadableCredentialError for a text of another place or key, or a changed one. */
  open(place: CredentialPlace, sealed: string): string {
    const credential = this.sealer.open(textOf(place), sealed);
    if (credential === undefined) throw new UnreadableCredentialError();
    return credential;
  }
}

function textOf({ tenantId, recordKind, recordId }: CredentialPlace): string {
  return `${tenantId}:${recordKind}:${recordId}`;
}
