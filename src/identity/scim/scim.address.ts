import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { currentRequest } from '../../platform/http/index.js';
import type { Message } from '../../platform/message/index.js';

/** The base address of the SCIM resources. */
@Injectable()
export class ScimAddress {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  get base(): string {
    return `${this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? ''}/scim/v2`;
  }
}

/** The number of a resource. Throws NotFoundError for a text that is not a number. */
export function numberOf(id: string, what: Message): number {
  if (!/^[1-9]\d{0,14}$/.test(id)) throw new NotFoundError(what);
  return Number(id);
}
