import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import { DICTIONARY_TYPE_NAME } from './dictionary.dto.js';
import type {
  CreateDictionaryEntryBody,
  DictionaryEntryListQuery,
  UpdateDictionaryEntryBody,
} from './dictionary.dto.js';
import type { DictionaryEntry } from './dictionary.entity.js';
import {
  DuplicateDictionaryValueError,
  FixedDictionaryEntryError,
  UnknownDictionaryTypeError,
} from './dictionary.errors.js';
import { DictionaryRepository } from './dictionary.repository.js';
import { toDictionaryEntryView } from './dictionary.view.js';
import type { DictionaryEntryView } from './dictionary.view.js';

const TARGET = 'dictionary_entry';

/** The entries of dictionary types. A change does not affect records that store a value. */
@Injectable()
export class DictionaryEntryService {
  constructor(
    private readonly dictionary: DictionaryRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async list(caller: Caller, query: DictionaryEntryListQuery): Promise<Page<DictionaryEntryView>> {
    const page = await this.dictionary.pageOfEntries(caller.tenantId, query);
    return page.map(toDictionaryEntryView);
  }

  /** The entries of a type by sort and id; none for a type that does not exist. */
  async ofType(caller: Caller, dictType: string): Promise<DictionaryEntryView[]> {
    if (!DICTIONARY_TYPE_NAME.test(dictType)) return [];
    const entries = await this.dictionary.entriesOf(caller.tenantId, dictType);
    return entries.map(toDictionaryEntryView);
  }

  async detail(caller: Caller, id: number): Promise<DictionaryEntryView> {
    return toDictionaryEntryView(await this.dictionary.getEntry(caller.tenantId, id));
  }

  /** Returns the id of the new entry. */
  async create(caller: Caller, body: CreateDictionaryEntryBody): Promise<number> {
    const { sort = 0, dictSort = sort, isDefault = 'N', ...values } = body;
    return this.database.transaction(async () => {
      await this.assertPlace(caller, values);
      const entry = { ...values, dictSort, isDefault, seeded: false };
      const { id } = await this.dictionary.insertEntry(caller.tenantId, entry);
      const detail = placeOf(values);
      await this.audit.record(caller, { action: 'create', target: TARGET, id, detail });
      return id;
    });
  }

  /** Changes the given fields. Type and value of a built-in entry cannot change. */
  async update(caller: Caller, body: UpdateDictionaryEntryBody): Promise<void> {
    const { dictCode, sort, dictSort = sort, ...values } = body;
    await this.database.transaction(async () => {
      const before = await this.dictionary.getEntry(caller.tenantId, dictCode);
      const after = {
        dictType: values.dictType ?? before.dictType,
        dictValue: values.dictValue ?? before.dictValue,
      };
      if (after.dictType !== before.dictType || after.dictValue !== before.dictValue) {
        assertNotBuiltIn(before);
        await this.assertPlace(caller, after);
      }
      await this.dictionary.updateEntry(caller.tenantId, dictCode, {
        ...values,
        ...after,
        dictSort,
      });
      const detail = { ...placeOf(before), ...after };
      await this.audit.record(caller, { action: 'update', target: TARGET, id: dictCode, detail });
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      for (const entry of await this.dictionary.entriesWithIds(caller.tenantId, ids)) {
        assertNotBuiltIn(entry);
        const detail = placeOf(entry);
        await this.audit.record(caller, { action: 'delete', target: TARGET, id: entry.id, detail });
      }
      await this.dictionary.removeEntries(caller.tenantId, ids);
    });
  }

  /** Requires that the type exists and has no entry with the value. */
  private async assertPlace(caller: Caller, place: Place): Promise<void> {
    const { dictType, dictValue } = place;
    if (!(await this.dictionary.typeNamed(caller.tenantId, dictType))) {
      throw new UnknownDictionaryTypeError(dictType);
    }
    if (await this.dictionary.entryWithValue(caller.tenantId, dictType, dictValue)) {
      throw new DuplicateDictionaryValueError(dictType, dictValue);
    }
  }
}

type Place = Pick<DictionaryEntry, 'dictType' | 'dictValue'>;

function placeOf({ dictType, dictValue }: Place): Place {
  return { dictType, dictValue };
}

function assertNotBuiltIn(entry: DictionaryEntry): void {
  if (entry.seeded) throw new FixedDictionaryEntryError(entry.dictType, entry.dictValue);
}
