import { Entity } from 'typeorm';
import {
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Revision,
  TenantId,
  UpdateTime,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** A list of choices, such as the categories of models. */
@Entity({ name: 'dictionary_type' })
export class DictionaryType {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(100) dictName: string;
  @Varchar(100) dictType: string;
  @Varchar(500, nullable) remark: string | null;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** One choice: the label is shown, the value is stored by other records. */
@Entity({ name: 'dictionary_entry' })
export class DictionaryEntry {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Varchar(100) dictType: string;
  @Varchar(100) dictLabel: string;
  @Varchar(100) dictValue: string;
  @Integer() dictSort: number;
  @Varchar(100, nullable) cssClass: string | null;
  @Varchar(100, nullable) listClass: string | null;
  @Char(1) isDefault: string;

  /** Plinth uses the value: it cannot change, label and order can. */
  @Flag() seeded: boolean;
  @Varchar(500, nullable) remark: string | null;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
