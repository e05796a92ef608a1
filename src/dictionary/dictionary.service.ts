import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import {
  DICTIONARY_TYPE_NAME,
  toDictionaryEntryView,
  toDictionaryTypeView,
} from './dictionary.dto.js';
import type {
  CreateDictionaryEntryBody,
  CreateDictionaryTypeBody,
  DictionaryEntryListQuery,
  DictionaryEntryView,
  DictionaryTypeListQuery,
  DictionaryTypeView,
  UpdateDictionaryEntryBody,
  UpdateDictionaryTypeBody,
} from './dictionary.dto.js';
import type { DictionaryEntry } from './dictionary.entity.js';
import {
  DictionaryTypeInUseError,
  DuplicateDictionaryTypeError,
  DuplicateDictionaryValueError,
  FixedDictionaryEntryError,
  FixedDictionaryTypeError,
  UnknownDictionaryTypeError,
} from './dictionary.errors.js';
import { DictionaryRepository } from './dictionary.repository.js';

/** Dictionary types and their entries. A change of an entry does not affect records that store its value. */
@Injectable()
export class DictionaryService {
  constructor(
    private readonly dictionary: DictionaryRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async types(caller: Caller, query: DictionaryTypeListQuery): Promise<Page<DictionaryTypeView>> {
    const page = await this.dictionary.pageOfTypes(caller.tenantId, query);
    return page.map(toDictionaryTypeView);
  }

  async typeOptions(caller: Caller): Promise<DictionaryTypeView[]> {
    const types = await this.dictionary.types.choices(caller.tenantId, {}, { id: 'ASC' });
    return types.map(toDictionaryTypeView);
  }

  async type(caller: Caller, id: number): Promise<DictionaryTypeView> {
    return toDictionaryTypeView(await this.dictionary.types.get(caller.tenantId, id));
  }

  /** Returns the id of the new type. */
  async createType(caller: Caller, body: CreateDictionaryTypeBody): Promise<number> {
    return this.database.transaction(async () => {
      await this.assertFreeType(caller, body.dictType);
      const { id } = await this.dictionary.insertType(caller.tenantId, body);
      const detail = { dictType: body.dictType };
      await this.audit.record(caller, { action: 'create', target: 'dictionary_type', id, detail });
      return id;
    });
  }

  /** A new dictType also applies to the entries; that of a type with built-in entries cannot change. */
  async updateType(
    caller: Caller,
    { dictId, revision, ...change }: UpdateDictionaryTypeBody,
  ): Promise<void> {
    await this.database.transaction(async () => {
      await this.dictionary.types.requireRevision(caller.tenantId, dictId, {
        expected: revision,
        current: () => this.type(caller, dictId),
      });
      const before = await this.dictionary.types.get(caller.tenantId, dictId);
      if (change.dictType !== undefined && change.dictType !== before.dictType) {
        await this.assertFreeType(caller, change.dictType);
        await this.assertRenamable(caller, before.dictType);
      }
      await this.dictionary.updateType(caller.tenantId, dictId, change);
      const detail = { dictType: before.dictType, changed: Object.keys(change) };
      await this.audit.record(caller, {
        action: 'update',
        target: 'dictionary_type',
        id: dictId,
        detail,
      });
    });
  }

  /** Deletes types without entries. */
  async removeTypes(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      for (const type of await this.dictionary.typesWithIds(caller.tenantId, ids)) {
        const { id, dictType } = type;
        if ((await this.dictionary.entries.count(caller.tenantId, { dictType })) > 0) {
          throw new DictionaryTypeInUseError(dictType);
        }
        await this.audit.record(caller, {
          action: 'delete',
          target: 'dictionary_type',
          id,
          detail: { dictType },
        });
      }
      await this.dictionary.types.remove(caller.tenantId, ids);
    });
  }

  async entries(
    caller: Caller,
    query: DictionaryEntryListQuery,
  ): Promise<Page<DictionaryEntryView>> {
    const page = await this.dictionary.pageOfEntries(caller.tenantId, query);
    return page.map(toDictionaryEntryView);
  }

  /** The entries of a type by sort and id; none for a type that does not exist. */
  async entriesOf(caller: Caller, dictType: string): Promise<DictionaryEntryView[]> {
    if (!DICTIONARY_TYPE_NAME.test(dictType)) return [];
    const order = { dictSort: 'ASC', id: 'ASC' } as const;
    const entries = await this.dictionary.entries.choices(caller.tenantId, { dictType }, order);
    return entries.map(toDictionaryEntryView);
  }

  async entry(caller: Caller, id: number): Promise<DictionaryEntryView> {
    return toDictionaryEntryView(await this.dictionary.entries.get(caller.tenantId, id));
  }

  /** Returns the id of the new entry. */
  async createEntry(caller: Caller, body: CreateDictionaryEntryBody): Promise<number> {
    const { sort = 0, dictSort = sort, isDefault = 'N', ...values } = body;
    return this.database.transaction(async () => {
      await this.assertPlace(caller, values);
      const entry = { ...values, dictSort, isDefault, seeded: false };
      const { id } = await this.dictionary.insertEntry(caller.tenantId, entry);
      const detail = placeOf(values);
      await this.audit.record(caller, { action: 'create', target: 'dictionary_entry', id, detail });
      return id;
    });
  }

  /** Changes the given fields. Type and value of a built-in entry cannot change. */
  async updateEntry(caller: Caller, body: UpdateDictionaryEntryBody): Promise<void> {
    const { dictCode, revision, sort, dictSort = sort, ...values } = body;
    await this.database.transaction(async () => {
      await this.dictionary.entries.requireRevision(caller.tenantId, dictCode, {
        expected: revision,
        current: () => this.entry(caller, dictCode),
      });
      const before = await this.dictionary.entries.get(caller.tenantId, dictCode);
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
      await this.audit.record(caller, {
        action: 'update',
        target: 'dictionary_entry',
        id: dictCode,
        detail,
      });
    });
  }

  async removeEntries(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      for (const entry of await this.dictionary.entriesWithIds(caller.tenantId, ids)) {
        assertNotBuiltIn(entry);
        const detail = placeOf(entry);
        await this.audit.record(caller, {
          action: 'delete',
          target: 'dictionary_entry',
          id: entry.id,
          detail,
        });
      }
      await this.dictionary.entries.remove(caller.tenantId, ids);
    });
  }

  private async assertFreeType(caller: Caller, dictType: string): Promise<void> {
    if (await this.dictionary.types.findOne(caller.tenantId, { dictType })) {
      throw new DuplicateDictionaryTypeError(dictType);
    }
  }

  private async assertRenamable(caller: Caller, dictType: string): Promise<void> {
    const builtIn = await this.dictionary.entries.count(caller.tenantId, {
      dictType,
      seeded: true,
    });
    if (builtIn > 0) throw new FixedDictionaryTypeError(dictType);
  }

  /** Requires that the type exists and has no entry with the value. */
  private async assertPlace(caller: Caller, place: Place): Promise<void> {
    const { dictType, dictValue } = place;
    if (!(await this.dictionary.types.findOne(caller.tenantId, { dictType }))) {
      throw new UnknownDictionaryTypeError(dictType);
    }
    if (await this.dictionary.entries.findOne(caller.tenantId, { dictType, dictValue })) {
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
