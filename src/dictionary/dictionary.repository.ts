import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import {
  containing,
  Database,
  isUniqueViolation,
  TenantScoped,
} from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { DictionaryEntryListQuery, DictionaryTypeListQuery } from './dictionary.dto.js';
import { DictionaryEntry, DictionaryType } from './dictionary.entity.js';
import {
  DuplicateDictionaryTypeError,
  DuplicateDictionaryValueError,
} from './dictionary.errors.js';

export type TypeValues = Pick<DictionaryType, 'dictName' | 'dictType'> & {
  readonly remark?: string | undefined;
};

export type EntryValues = Pick<
  DictionaryEntry,
  'dictType' | 'dictLabel' | 'dictValue' | 'dictSort' | 'isDefault' | 'seeded'
> & {
  readonly cssClass?: string | undefined;
  readonly listClass?: string | undefined;
  readonly remark?: string | undefined;
};

type Change<Values> = { readonly [Name in keyof Values]?: Values[Name] | undefined };

type EntryChange = Change<EntryValues> & Pick<EntryValues, 'dictType' | 'dictValue'>;

@Injectable()
export class DictionaryRepository {
  readonly types: TenantScoped<DictionaryType>;
  readonly entries: TenantScoped<DictionaryEntry>;

  constructor(private readonly database: Database) {
    this.types = new TenantScoped(database, DictionaryType, msg`The dictionary type`);
    this.entries = new TenantScoped(database, DictionaryEntry, msg`The dictionary entry`);
  }

  pageOfTypes(tenantId: string, query: DictionaryTypeListQuery): Promise<Page<DictionaryType>> {
    const where = {
      ...(query.dictName && { dictName: containing(query.dictName) }),
      ...(query.dictType && { dictType: containing(query.dictType) }),
    };
    return this.types.page(tenantId, query, where, { id: 'DESC' });
  }

  typesWithIds(tenantId: string, ids: readonly number[]): Promise<DictionaryType[]> {
    return this.types.find(tenantId, { id: In([...ids]) });
  }

  insertType(tenantId: string, values: TypeValues): Promise<DictionaryType> {
    const duplicate = new DuplicateDictionaryTypeError(values.dictType);
    return unlessDuplicate(duplicate, () => this.types.insert(tenantId, values));
  }

  updateType(tenantId: string, id: number, change: Change<TypeValues>): Promise<void> {
    const duplicate = new DuplicateDictionaryTypeError(change.dictType ?? '');
    return unlessDuplicate(duplicate, () => this.types.update(tenantId, id, change));
  }

  pageOfEntries(tenantId: string, query: DictionaryEntryListQuery): Promise<Page<DictionaryEntry>> {
    const where = {
      ...(query.dictType && { dictType: query.dictType }),
      ...(query.dictLabel && { dictLabel: containing(query.dictLabel) }),
      ...(query.dictValue && { dictValue: containing(query.dictValue) }),
    };
    return this.entries.page(tenantId, query, where, {
      dictType: 'ASC',
      dictSort: 'ASC',
      id: 'ASC',
    });
  }

  entriesWithIds(tenantId: string, ids: readonly number[]): Promise<DictionaryEntry[]> {
    return this.entries.find(tenantId, { id: In([...ids]) });
  }

  insertEntry(tenantId: string, values: EntryValues): Promise<DictionaryEntry> {
    const duplicate = new DuplicateDictionaryValueError(values.dictType, values.dictValue);
    return unlessDuplicate(duplicate, () => this.entries.insert(tenantId, values));
  }

  updateEntry(tenantId: string, id: number, change: EntryChange): Promise<void> {
    const duplicate = new DuplicateDictionaryValueError(change.dictType, change.dictValue);
    return unlessDuplicate(duplicate, () => this.entries.update(tenantId, id, change));
  }

  /** Adds missing entries of a built-in type and changes nothing else; does nothing for an unknown tenant. */
  async seed(
    tenantId: string,
    type: TypeValues,
    entries: readonly Pick<EntryValues, 'dictLabel' | 'dictValue' | 'dictSort' | 'listClass'>[],
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO dictionary_type (tenant_id, dict_name, dict_type)
       SELECT tenant_id, $2, $3 FROM tenant WHERE tenant_id = $1
       ON CONFLICT DO NOTHING`,
      [tenantId, type.dictName, type.dictType],
    );
    await this.database.query(
      `INSERT INTO dictionary_entry (tenant_id, dict_type, dict_label, dict_value, dict_sort, list_class, seeded)
       SELECT dictionary_type.tenant_id, dict_type, entry.label, entry.value, entry.sort, entry.class, true
       FROM dictionary_type,
         unnest($3::text[], $4::text[], $5::integer[], $6::text[]) AS entry (label, value, sort, class)
       WHERE dictionary_type.tenant_id = $1 AND dict_type = $2
       ORDER BY entry.sort
       ON CONFLICT DO NOTHING`,
      [
        tenantId,
        type.dictType,
        entries.map((entry) => entry.dictLabel),
        entries.map((entry) => entry.dictValue),
        entries.map((entry) => entry.dictSort),
        entries.map((entry) => entry.listClass ?? null),
      ],
    );
  }
}

/** The services check first; the unique index decides between concurrent requests. */
async function unlessDuplicate<T>(duplicate: Error, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isUniqueViolation(error) ? duplicate : error;
  }
}
