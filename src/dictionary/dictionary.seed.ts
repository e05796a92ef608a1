import { Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { TenantLifecycle } from '../platform/access/index.js';
import { inTenant } from '../platform/database/index.js';
import { DictionaryRepository } from './dictionary.repository.js';

const FIRST_TENANT = '000000';

type Entry = readonly [value: string, label: string, listClass?: string];

interface BuiltInType {
  readonly dictName: string;
  readonly dictType: string;
  readonly entries: readonly Entry[];
}

/**
 * The first one has the values that models store, in the order of docs/WIRE.md (Model categories). The others are what the
 * system pages of existing consoles show.
 */
const BUILT_IN: readonly BuiltInType[] = [
  {
    dictName: 'Model categories',
    dictType: 'chat_model_category',
    entries: [
      ['chat', 'Chat'],
      ['vector', 'Embedding'],
      ['rerank', 'Reranking'],
      ['image', 'Image generation'],
      ['audio', 'Speech generation'],
      ['video', 'Video generation'],
    ],
  },
  {
    dictName: 'Grant types',
    dictType: 'sys_grant_type',
    entries: [
      ['password', 'Password', 'default'],
      ['sms', 'Text message', 'default'],
      ['email', 'E-mail', 'default'],
      ['social', 'Social account', 'default'],
      ['xcx', 'Mini program', 'default'],
    ],
  },
  {
    dictName: 'Device types',
    dictType: 'sys_device_type',
    entries: [
      ['pc', 'PC', 'default'],
      ['android', 'Android', 'default'],
      ['ios', 'iOS', 'default'],
      ['xcx', 'Mini program', 'default'],
    ],
  },
  {
    dictName: 'Sex',
    dictType: 'sys_user_sex',
    entries: [
      ['0', 'Male'],
      ['1', 'Female'],
      ['2', 'Not specified'],
    ],
  },
  {
    dictName: 'Enabled or disabled',
    dictType: 'sys_normal_disable',
    entries: [
      ['0', 'Enabled', 'primary'],
      ['1', 'Disabled', 'danger'],
    ],
  },
  {
    dictName: 'Done or failed',
    dictType: 'sys_common_status',
    entries: [
      ['0', 'Done', 'primary'],
      ['1', 'Failed', 'danger'],
    ],
  },
  {
    dictName: 'Operation types',
    dictType: 'sys_oper_type',
    entries: [
      ['1', 'Create', 'info'],
      ['2', 'Change', 'info'],
      ['3', 'Delete', 'danger'],
      ['4', 'Permissions', 'primary'],
      ['7', 'End of a sign-in', 'danger'],
      ['0', 'Other', 'default'],
    ],
  },
];

/** Adds missing built-in entries to every new tenant, and to the first tenant at each start. */
@Injectable()
export class DictionarySeed implements OnApplicationBootstrap {
  constructor(
    private readonly dictionary: DictionaryRepository,
    lifecycle: TenantLifecycle,
  ) {
    // In the constructor, because the start-up hook of another feature may create the first tenant.
    lifecycle.join({ created: (tenantId) => this.seed(tenantId) });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.seed(FIRST_TENANT);
  }

  private seed(tenantId: string): Promise<void> {
    return inTenant(tenantId, async () => {
      for (const { entries, ...type } of BUILT_IN) {
        const rows = entries.map(([dictValue, dictLabel, listClass], index) => ({
          dictValue,
          dictLabel,
          dictSort: index + 1,
          listClass,
        }));
        await this.dictionary.seed(tenantId, type, rows);
      }
    });
  }
}
