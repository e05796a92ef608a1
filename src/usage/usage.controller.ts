import { Readable } from 'node:stream';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get, Logger, Query, Res, StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, LoginOnly, RequirePermission } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, AnswersFile, MAX_ROWS, NoEnvelope } from '../platform/http/index.js';
import { chargeFile, csvOf } from './usage.csv.js';
import {
  ChargeQuery,
  filterOf,
  groupsOf,
  monthOf,
  OwnUsageExportQuery,
  OwnUsageQuery,
  UsageExportQuery,
  UsageQuery,
  UsageRowView,
  UsageTotalView,
  UsageView,
} from './usage.dto.js';
import { UsageRepository } from './usage.repository.js';

const CSV = 'text/csv';
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** The usage ledger: calls of model services, tokens and costs. */
@ApiTags('usage')
@Controller('monitor/usage')
export class UsageController {
  private readonly logger = new Logger('Export');

  constructor(private readonly usage: UsageRepository) {}

  /** Sums of the calls of the caller's tenant. */
  @Get()
  @RequirePermission('monitor:usage:query')
  @Answers(UsageView)
  report(@CurrentCaller() caller: Caller, @Query() query: UsageQuery): Promise<UsageView> {
    return this.reportOf(caller, query);
  }

  /** The same of the caller's own calls; with an API key those of the key. */
  @Get('own')
  @LoginOnly({ apiKey: 'any' })
  @Answers(UsageView)
  own(@CurrentCaller() caller: Caller, @Query() query: OwnUsageQuery): Promise<UsageView> {
    return this.reportOf(caller, { ...query, ...ownOf(caller) });
  }

  /** The rows of the usage ledger as CSV. */
  @Get('export')
  @RequirePermission('monitor:usage:export')
  @NoEnvelope()
  @AnswersFile(CSV, 'One line for each call, or for the calls of a day where they are summed up')
  export(
    @CurrentCaller() caller: Caller,
    @Query() query: UsageExportQuery,
    @Res({ passthrough: true }) response: Response,
  ): StreamableFile {
    return this.csv(caller, query, response);
  }

  /** The same of the caller's own calls; with an API key those of the key. */
  @Get('own/export')
  @LoginOnly({ apiKey: 'any' })
  @NoEnvelope()
  @AnswersFile(CSV, 'One line for each call, or for the calls of a day where they are summed up')
  exportOwn(
    @CurrentCaller() caller: Caller,
    @Query() query: OwnUsageExportQuery,
    @Res({ passthrough: true }) response: Response,
  ): StreamableFile {
    return this.csv(caller, { ...query, ...ownOf(caller) }, response);
  }

  /** What each user, key, group, tag, model or agent owes for a month, and the sums that the invoices must have, one in each currency. */
  @Get('charges')
  @RequirePermission('monitor:usage:export')
  @NoEnvelope()
  @AnswersFile(
    [CSV, XLSX],
    'A line for each charge and currency, then the sums; format chooses the file',
  )
  async charges(
    @CurrentCaller() { tenantId }: Caller,
    @Query() query: ChargeQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    const { groupBy = 'user', format = 'csv' } = query;
    const { month, ...filter } = monthOf(query);
    const report = await this.usage.charges(tenantId, filter, groupBy);
    const name = `charges-${month}-${groupBy}.${format}`;
    return this.file(chargeFile(month, report, format), response, [
      name,
      format === 'csv' ? CSV : XLSX,
    ]);
  }

  private async reportOf({ tenantId }: Caller, query: UsageQuery): Promise<UsageView> {
    const { groupBy, limit, ...filter } = query;
    const groups = groupsOf({ groupBy });
    const options = { groups, limit: limit ?? MAX_ROWS };
    const { total, rows, more } = await this.usage.report(tenantId, filterOf(filter), options);
    return UsageView.of({
      total: UsageTotalView.of(total),
      rows: rows.map((row) =>
        UsageRowView.of(row, {
          groups: groups.map((by, at) => ({
            by,
            key: row[`key${at}`] ?? null,
            name: row[`name${at}`] ?? null,
          })),
        }),
      ),
      more,
    });
  }

  private csv({ tenantId }: Caller, query: UsageExportQuery, response: Response): StreamableFile {
    // Pages are read when the client wants more, in whatever context that happens.
    const inRequest = AsyncLocalStorage.snapshot();
    const pages = this.usage.rows(tenantId, filterOf(query));
    const read = {
      [Symbol.asyncIterator]: () => ({
        next: () => inRequest(() => pages.next()),
        return: () => pages.return(undefined),
      }),
    };
    return this.file(csvOf(read), response, ['usage.csv', CSV]);
  }

  private file(
    content: AsyncIterable<string | Uint8Array>,
    response: Response,
    [name, type]: readonly [name: string, type: string],
  ): StreamableFile {
    response.attachment(name).set({
      'Content-Type': type === CSV ? `${CSV}; charset=utf-8` : type,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    });
    return new StreamableFile(Readable.from(content, { objectMode: false })).setErrorHandler(
      (error) => {
        this.logger.error({ msg: 'Failed to export', sheet: name, err: error });
        response.destroy();
      },
    );
  }
}

/** The filter for callers who may read only their own calls. */
function ownOf({ userId, apiKey }: Caller): Pick<UsageExportQuery, 'userId' | 'apiKeyId'> {
  return { userId, ...(apiKey && { apiKeyId: apiKey.id }) };
}
