import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { randomBytes } from 'node:crypto';

/** Argon2id as OWASP's Password Storage Cheat Sheet recommends at least: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

@Injectable()
export class PasswordHasher implements OnModuleInit {
  private ofNobody: string;

  async onModuleInit(): Promise<void> {
    this.ofNobody = await this.hash(randomBytes(16).toString('hex'));
  }

  async hash(password: string): Promise<string> {
    return hash(password, COST);
  }

  /** Without a hash it takes the same time and answers false. */
  async verify(passwordHash: string | undefined, password: string): Promise<boolean> {
    const right = await verify(passwordHash ?? this.ofNobody, password);
    return right && passwordHash !== undefined;
  }
}

/** A password nobody has chosen: 24 characters, 128 random bits and more. */
export function randomPassword(): string {
  return randomBytes(18).toString('base64url');
}
