import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { IntervalJob } from '../../platform/queue/index.js';
import { LoginSessionRepository } from './login-session.repository.js';

const HOUR_MS = 3_600_000;

/** Deletes every hour what is left of sign-ins that have ended by themselves. */
@Injectable()
export class SignInSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(SignInSweep.name);
  private rounds: IntervalJob | undefined;

  constructor(private readonly sessions: LoginSessionRepository) {}

  onApplicationBootstrap(): void {
    this.rounds = new IntervalJob(HOUR_MS, () => this.sweep());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** Never throws: what one sweep leaves, the next one finds. */
  async sweep(): Promise<void> {
    try {
      await this.sessions.sweep();
    } catch (error) {
      this.logger.warn({ msg: 'Ended sign-ins could not be deleted', err: error });
    }
  }
}
