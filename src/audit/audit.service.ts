import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/index.js';
import { InvalidInputError } from '../error/index.js';
import type { Page } from '../http/index.js';
import type { AuditListQuery } from './audit.dto.js';
import { AuditRepository } from './audit.repository.js';
import { toAuditEntryView } from './audit.view.js';
import type { AuditEntryView } from './audit.view.js';

const SECOND_MS = 1_000;

@Injectable()
export class AuditService {
  constructor(private readonly entries: AuditRepository) {}

  /** The entries of the caller's tenant, newest first. */
  async list(caller: Caller, query: AuditListQuery): Promise<Page<AuditEntryView>> {
    const { beginTime, endTime } = query.params ?? {};
    const page = await this.entries.page(caller.tenantId, query, {
      ...query,
      from: beginTime ? moment('params[beginTime]', beginTime, '00:00:00') : undefined,
      until: endTime ? after(moment('params[endTime]', endTime, '23:59:59')) : undefined,
    });
    return page.map(toAuditEntryView);
  }
}

/** Reads a time in the zone that times on the wire are in. */
function moment(field: string, written: string, timeOfDay: string): Date {
  const [day, time = timeOfDay] = written.split(' ');
  const read = new Date(`${day}T${time}`);
  if (Number.isNaN(read.getTime()))
    throw new InvalidInputError(`${field}: there is no ${written}.`);
  return read;
}

/** Entries are stored to the microsecond: the named second is included to its end. */
function after(second: Date): Date {
  return new Date(second.getTime() + SECOND_MS);
}
