import { Inject, Injectable } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { Webhook } from 'standardwebhooks';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { inTenant } from '../platform/database/index.js';
import { wireTime } from '../platform/http/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { PeriodicRound } from '../platform/queue/index.js';
import { NoticeRepository } from './notice.repository.js';
import type { DueDelivery } from './notice.repository.js';

const ROUND_MS = 5_000;
const MAX_CLAIMED_COUNT = 20;
/** An attempt ends before another process may repeat it (CLAIM). */
const TIMEOUTS = { connectMs: 5_000, idleMs: 15_000, totalMs: 20_000 };
const SMTP_TIMEOUTS = { connectionTimeout: 5_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
const MAX_SMTP_MS = 60_000;

/** A delivery is tried for a day, with pauses of 30 seconds, 2 minutes and so on, up to 4 hours. */
const MAX_AGE_SECONDS = 24 * 3_600;
const FIRST_PAUSE_SECONDS = 30;
const MAX_PAUSE_SECONDS = 4 * 3_600;

/** The status with which a receiver wants no more (Standard Webhooks). */
const GONE = 410;

/**
 * Delivers what is in the outbox. A delivery is claimed for one attempt, so that two processes never make the same; after a crash
 * it is made again, with the same webhook-id.
 */
@Injectable()
export class NoticeWorker extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: NoticeRepository,
    private readonly http: OutboundHttp,
  ) {
    super(config, 'Failed to deliver notices', ROUND_MS);
  }

  override async round(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      const due = await this.repository.claim(MAX_CLAIMED_COUNT);
      await Promise.all(due.map((one) => inTenant(one.tenantId, () => this.deliver(one, ending))));
      if (due.length < MAX_CLAIMED_COUNT) return;
    }
  }

  private async deliver(delivery: DueDelivery, ending: AbortSignal): Promise<void> {
    try {
      if (delivery.kind === 'mail') await this.mail(delivery);
      else await this.post(delivery, ending);
      await this.repository.end(delivery, 'delivered');
    } catch (error) {
      const { id, tenantId, attempts, ageSeconds } = delivery;
      const reason = error instanceof Error ? error.message : String(error);
      const pause = Math.min(FIRST_PAUSE_SECONDS * 4 ** (attempts - 1), MAX_PAUSE_SECONDS);
      const isLast = error instanceof GoneError || ageSeconds + pause > MAX_AGE_SECONDS;
      await this.repository.end(delivery, isLast ? 'failed' : 'waiting', reason, pause);
      if (isLast) this.logger.warn({ msg: 'Notice not delivered', id, tenantId, attempts, reason });
    }
  }

  private async post(delivery: DueDelivery, ending: AbortSignal): Promise<void> {
    const { id, tenantId, address, secret } = delivery;
    const key = this.repository.secrets.open(tenantId, address, secret ?? '');
    if (key === undefined)
      throw new Error('The secret cannot be decrypted. Add the webhook again.');
    const sentTime = new Date();
    const body = JSON.stringify(eventOf(delivery));
    const response = await this.http.request(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(sentTime.getTime() / 1_000)),
        'webhook-signature': new Webhook(key).sign(id, sentTime, body),
      },
      body,
      signal: ending,
      timeouts: TIMEOUTS,
    });
    response.discard();
    if (response.status === GONE) throw new GoneError();
    if (response.status < 200 || response.status >= 300) {
      throw new Error(`The webhook answered with status ${response.status}.`);
    }
  }

  private async mail(delivery: DueDelivery): Promise<void> {
    const { SMTP_URL: url, MAIL_FROM: from } = this.config;
    if (url === undefined || from === undefined) {
      throw new Error('SMTP_URL and MAIL_FROM are not set.');
    }
    const transport = createTransport({ url, ...SMTP_TIMEOUTS });
    const timer = setTimeout(() => transport.close(), MAX_SMTP_MS);
    try {
      await transport.sendMail({
        from,
        to: delivery.address,
        subject: titleOf(delivery),
        text: textOf(delivery),
        messageId: `<${delivery.id}@plinth>`,
      });
    } finally {
      clearTimeout(timer);
      transport.close();
    }
  }
}

class GoneError extends Error {
  constructor() {
    super(`The webhook answered with status ${GONE}: it wants no more.`);
  }
}

/** The body of a webhook (docs/API.md, Notices). */
function eventOf(delivery: DueDelivery) {
  const { percent, limitId, scope, subject, measure, used, cap, tenantId } = delivery;
  return {
    type: 'usage.threshold',
    timestamp: delivery.reachedTime.toISOString(),
    data: {
      ...{ tenantId, limitId, scope, subject, measure, percent, used, cap },
      periodStart: delivery.periodStart.toISOString(),
    },
  };
}

function titleOf({ percent, scope, subject, measure }: DueDelivery): string {
  const whose = subject === null ? `the ${scope}` : `${scope} ${subject}`;
  return `${percent} % of a limit used: ${measure} of ${whose}`.replaceAll(/\p{C}/gu, ' ');
}

function textOf(delivery: DueDelivery): string {
  const { used, cap, periodStart, reachedTime, tenantId } = delivery;
  return [
    `${titleOf(delivery)}.`,
    '',
    `Used: ${used} of ${cap}, in the period that began at ${wireTime(periodStart)}.`,
    `Reached at ${wireTime(reachedTime)}, tenant ${tenantId}.`,
    'Calls that would exceed the limit are refused. Administrators change limits on the page Usage, Limits.',
  ].join('\n');
}
