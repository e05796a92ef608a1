import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { inTenant } from '../database/index.js';
import { OutboundHttp } from '../outbound/index.js';
import { AuditChainRepository } from './audit-chain.repository.js';
import type { StoredLink } from './audit-chain.repository.js';

/** Each receiver takes its own form of the body (docs/OPERATIONS.md, Audit log). */
type AuditExportFormat = Config['AUDIT_EXPORT_FORMAT'];

/** Entries of one request: Datadog takes 1,000 and 5 MB. */
const MAX_REQUEST_COUNT = 500;
const TIMEOUTS = { connectMs: 5_000, idleMs: 20_000, totalMs: 30_000 };
const MAX_ANSWER_BYTES = 4 * 2 ** 20;
/** Elastic's status of a document that exists already: sent before. */
const CONFLICT = 409;

/**
 * Sends the entries of the audit log to the receiver of AUDIT_EXPORT: those of a tenant in the order of their chain, each at
 * least once. The position is stored when the receiver has accepted; a failure is tried again by the next round.
 */
@Injectable()
export class AuditExport {
  private readonly logger = new Logger(AuditExport.name);
  private isFailing = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: AuditChainRepository,
    private readonly http: OutboundHttp,
  ) {}

  /** Exports what is not exported yet. Never throws for a receiver that is away. */
  async run(ending?: AbortSignal): Promise<void> {
    const { AUDIT_EXPORT: receiver } = this.config;
    if (receiver === undefined) return;
    for (const tenantId of await this.repository.unexported()) {
      if (ending?.aborted) return;
      try {
        await inTenant(tenantId, () => this.runTenant(receiver, tenantId, ending));
        if (this.isFailing) this.logger.log({ msg: 'Audit export recovered' });
        this.isFailing = false;
      } catch (error) {
        if (!this.isFailing)
          this.logger.warn({ msg: 'Failed to export audit entries', err: error });
        this.isFailing = true;
        return;
      }
    }
  }

  private async runTenant(receiver: string, tenantId: string, ending?: AbortSignal): Promise<void> {
    let position = await this.repository.claimExport(tenantId);
    if (position === undefined) return;
    try {
      while (!ending?.aborted) {
        const links = await this.repository.links(tenantId, position, MAX_REQUEST_COUNT);
        const last = links.at(-1);
        if (!last) return;
        const documents = links.map((link) => documentOf(tenantId, link));
        if (receiver === 'stdout') process.stdout.write(jsonLines(documents));
        else await this.send(receiver, documents, ending);
        if (!(await this.repository.exported(tenantId, position, last.number))) return;
        position = last.number;
      }
    } finally {
      await this.repository.releaseExport(tenantId);
    }
  }

  private async send(
    receiver: string,
    documents: readonly AuditDocument[],
    ending = new AbortController().signal,
  ): Promise<void> {
    const { AUDIT_EXPORT_FORMAT: format, AUDIT_EXPORT_HEADER: header = '' } = this.config;
    const colon = header.indexOf(':');
    const { body, type } = bodyOf(format, documents);
    const response = await this.http.request(receiver, {
      method: 'POST',
      headers: {
        'content-type': type,
        ...(colon > 0 && { [header.slice(0, colon)]: header.slice(colon + 1).trim() }),
      },
      body,
      signal: ending,
      timeouts: TIMEOUTS,
    });
    const answer = await response.text(MAX_ANSWER_BYTES);
    if (response.status >= 300) throw new ExportRefusedError(`status ${response.status}`);
    if (format === 'elastic') requireIndexed(answer);
  }
}

/** The receiver answered, and did not accept. Its text is left out, because it may quote what was sent. */
class ExportRefusedError extends Error {
  constructor(reason: string) {
    super(`The receiver of AUDIT_EXPORT refused the entries: ${reason}.`);
  }
}

type AuditDocument = ReturnType<typeof documentOf>;

function documentOf(
  tenantId: string,
  { number, digest, entryId, entry }: StoredLink,
): Readonly<Record<string, unknown>> & { readonly id: string; readonly '@timestamp': string } {
  const { createTime = '', detail = '{}', ...fields } = entry ?? {};
  return {
    ...{ type: 'audit', ...fields, id: `${tenantId}-${number}`, entryId, tenantId },
    ...{ '@timestamp': createTime, detail: JSON.parse(detail) as object, number, digest },
  };
}

function jsonLines(documents: readonly object[]): string {
  return documents.map((document) => `${JSON.stringify(document)}\n`).join('');
}

function bodyOf(
  format: AuditExportFormat,
  documents: readonly AuditDocument[],
): { readonly body: string; readonly type: string } {
  switch (format) {
    case 'splunk':
      return {
        body: jsonLines(
          documents.map((event) => ({
            ...{ time: Date.parse(event['@timestamp']) / 1_000, source: 'plinth', event },
          })),
        ),
        type: 'application/json',
      };
    case 'elastic':
      return {
        body: jsonLines(documents.flatMap((one) => [{ create: { _id: one.id } }, one])),
        type: 'application/x-ndjson',
      };
    case 'datadog':
      return {
        body: JSON.stringify(
          documents.map((one) => ({
            ...{ ddsource: 'plinth', service: 'plinth', message: JSON.stringify(one) },
          })),
        ),
        type: 'application/json',
      };
    case 'lines':
      return { body: jsonLines(documents), type: 'application/x-ndjson' };
  }
}

/** Elastic answers 200 although documents were refused. */
function requireIndexed(answer: string): void {
  const { errors, items = [] } = JSON.parse(answer) as {
    readonly errors?: boolean;
    readonly items?: readonly { readonly create?: { readonly status?: number } }[];
  };
  if (errors === false) return;
  const refused = items.find(({ create }) => {
    const status = create?.status ?? 500;
    return status >= 300 && status !== CONFLICT;
  });
  if (refused || items.length === 0) {
    throw new ExportRefusedError(`status ${refused?.create?.status} of a document`);
  }
}
