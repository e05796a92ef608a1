import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { LoginSessionRepository } from './login-session.repository.js';

const HOUR_MS = 3_600_000;

/** Deletes every hour what is left of sign-ins that have ended by themselves. */
@Injectable()
export class SignInSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(SignInSweep.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly sessions: LoginSessionRepository) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.sweep(), HOUR_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  /** Never throws: what one sweep leaves, the next one finds. */
  async sweep(): Promise<void> {
    this.running = this.sessions.sweep().catch((error: unknown) => {
      this.logger.warn({ msg: 'Ended sign-ins could not be deleted', err: error });
    });
    return this.running;
  }
}
