import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { IntervalJob } from '../../platform/queue/index.js';
import { LoginSessionRepository } from './login-session.repository.js';

const HOUR_MS = 3_600_000;

/** Deletes expired and idle sign-ins every hour. */
@Injectable()
export class LoginSessionSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(LoginSessionSweep.name);
  private rounds: IntervalJob | undefined;

  constructor(private readonly sessions: LoginSessionRepository) {}

  onApplicationBootstrap(): void {
    this.rounds = new IntervalJob(HOUR_MS, () => this.sweep());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** Never throws. The next sweep finds what this one leaves. */
  async sweep(): Promise<void> {
    try {
      await this.sessions.sweep();
    } catch (error) {
      this.logger.warn({ msg: 'Failed to delete ended sign-ins', err: error });
    }
  }
}
