import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import type {
  CreateDictionaryTypeBody,
  DictionaryTypeListQuery,
  UpdateDictionaryTypeBody,
} from './dictionary.dto.js';
import {
  DictionaryTypeInUseError,
  DuplicateDictionaryTypeError,
  FixedDictionaryTypeError,
} from './dictionary.errors.js';
import { DictionaryRepository } from './dictionary.repository.js';
import { toDictionaryTypeView } from './dictionary.view.js';
import type { DictionaryTypeView } from './dictionary.view.js';

const TARGET = 'dictionary_type';

@Injectable()
export class DictionaryTypeService {
  constructor(
    private readonly dictionary: DictionaryRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async list(caller: Caller, query: DictionaryTypeListQuery): Promise<Page<DictionaryTypeView>> {
    const page = await this.dictionary.pageOfTypes(caller.tenantId, query);
    return page.map(toDictionaryTypeView);
  }

  async options(caller: Caller): Promise<DictionaryTypeView[]> {
    return (await this.dictionary.allTypes(caller.tenantId)).map(toDictionaryTypeView);
  }

  async detail(caller: Caller, id: number): Promise<DictionaryTypeView> {
    return toDictionaryTypeView(await this.dictionary.getType(caller.tenantId, id));
  }

  /** Returns the id of the new type. */
  async create(caller: Caller, body: CreateDictionaryTypeBody): Promise<number> {
    return this.database.transaction(async () => {
      await this.assertFree(caller, body.dictType);
      const { id } = await this.dictionary.insertType(caller.tenantId, body);
      const detail = { dictType: body.dictType };
      await this.audit.record(caller, { action: 'create', target: TARGET, id, detail });
      return id;
    });
  }

  /** A new dictType also applies to the entries; that of a type with built-in entries cannot change. */
  async update(caller: Caller, { dictId, ...change }: UpdateDictionaryTypeBody): Promise<void> {
    await this.database.transaction(async () => {
      const before = await this.dictionary.getType(caller.tenantId, dictId);
      if (change.dictType !== undefined && change.dictType !== before.dictType) {
        await this.assertFree(caller, change.dictType);
        await this.assertRenamable(caller, before.dictType);
      }
      await this.dictionary.updateType(caller.tenantId, dictId, change);
      const detail = { dictType: before.dictType, changed: Object.keys(change) };
      await this.audit.record(caller, { action: 'update', target: TARGET, id: dictId, detail });
    });
  }

  /** Deletes types without entries. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      for (const type of await this.dictionary.typesWithIds(caller.tenantId, ids)) {
        const { id, dictType } = type;
        if ((await this.dictionary.countEntries(caller.tenantId, dictType)) > 0) {
          throw new DictionaryTypeInUseError(dictType);
        }
        await this.audit.record(caller, {
          action: 'delete',
          target: TARGET,
          id,
          detail: { dictType },
        });
      }
      await this.dictionary.removeTypes(caller.tenantId, ids);
    });
  }

  private async assertFree(caller: Caller, dictType: string): Promise<void> {
    if (await this.dictionary.typeNamed(caller.tenantId, dictType)) {
      throw new DuplicateDictionaryTypeError(dictType);
    }
  }

  private async assertRenamable(caller: Caller, dictType: string): Promise<void> {
    const builtIn = await this.dictionary.countEntries(caller.tenantId, dictType, { seeded: true });
    if (builtIn > 0) throw new FixedDictionaryTypeError(dictType);
  }
}
