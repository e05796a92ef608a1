import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { DomainError, InvalidInputError } from '../../platform/error/index.js';
import { inputPipe, localized, readWorkbook, sheetOf } from '../../platform/http/index.js';
import { isRefused, StorageService } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import { msg, sentences, withTexts } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { Passwords } from '../password/passwords.js';
import type { Role } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { ChangedUserDto, NewUserDto } from './user.dto.js';
import { UserRepository } from './user.repository.js';
import { UserService } from './user.service.js';
import type { Message } from '../../platform/message/index.js';

/** A row of the file that cannot be imported. */
interface RefusedRow {
  readonly row: number;
  readonly reason: Message;
}

/** Limit of rows of one file: hashing their passwords takes some seconds, and existing clients wait for ten. */
const MAX_ROWS = 200;
const MAX_BYTES = 2 ** 20;
/** Limit of refused rows that a message names. */
const MAX_NAMED_ROW_COUNT = 10;

/** The headers of the file, in any order. Those of the export are the same, so that it can be changed and imported. */
const COLUMNS = {
  userName: 'User name',
  nickName: 'Display name',
  password: 'Password',
  email: 'E-mail',
  phonenumber: 'Telephone',
  sex: 'Sex',
  status: 'Status',
  roles: 'Roles',
  remark: 'Remark',
} as const;

/** A row as a person typed it. */
export type UserRow = Readonly<Record<keyof typeof COLUMNS, string>>;

/** The workbook to fill in. */
export const userImportSheet = sheetOf<UserRow>('User import', COLUMNS);

/** The words for the codes of the wire. */
const SEX: Readonly<Record<string, string>> = { male: '0', female: '1', 'not specified': '2' };
const STATUS: Readonly<Record<string, string>> = { enabled: '0', disabled: '1' };

/** The validated change of one row. */
type Change =
  | { readonly row: number; readonly create: NewUserDto }
  | { readonly row: number; readonly update: ChangedUserDto };

/** Creates and changes users from the rows of a workbook. */
@Injectable()
export class UserImport {
  private readonly pipe = inputPipe();

  constructor(
    private readonly storage: StorageService,
    private readonly repository: UserRepository,
    private readonly roles: RoleRepository,
    private readonly users: UserService,
    private readonly passwords: Passwords,
    private readonly change: AccessChange,
  ) {}

  /**
   * Imports all rows or none. A row whose user exists changes that user where `mayUpdate` is set: empty cells and the password stay
   * as they are. InvalidInputError names the rows that are refused, by their numbers.
   */
  async run(
    caller: Caller,
    parts: readonly UploadedPart[],
    mayUpdate: boolean,
  ): Promise<{ readonly created: number; readonly updated: number }> {
    try {
      const rows = rowsOf(await readWorkbook(await this.content(parts)));
      const changes = await this.checked(caller, rows, mayUpdate);
      const created = await this.hashed(changes);
      const updated = changes.flatMap((change) => ('update' in change ? [change] : []));
      await this.change.apply(
        caller,
        async () => {
          for (const { row, create, passwordHash } of created) {
            await ofRow(row, () => this.users.create(caller, create, passwordHash));
          }
          for (const { row, update } of updated) {
            await ofRow(row, () => this.users.update(caller, update));
          }
        },
        () => [],
      );
      return { created: created.length, updated: updated.length };
    } finally {
      await this.storage.discardUnrecorded(parts);
    }
  }

  private async content(parts: readonly UploadedPart[]): Promise<Buffer> {
    const [part] = parts;
    if (parts.length !== 1 || !part) throw new InvalidInputError(msg`Send one file as \`file\`.`);
    if (isRefused(part)) throw part.refusal;
    if (part.size > MAX_BYTES) {
      throw new InvalidInputError(msg`The workbook is larger than 1 MiB. Split it.`);
    }
    return buffer(await this.storage.readReceived(part, { start: 0, end: part.size }));
  }

  private async checked(
    caller: Caller,
    rows: readonly (readonly [row: number, values: Partial<UserRow>])[],
    mayUpdate: boolean,
  ): Promise<readonly Change[]> {
    const roles = await this.roles.all(caller.tenantId);
    const changes: Change[] = [];
    const refused: RefusedRow[] = [];
    for (const [row, values] of rows) {
      try {
        changes.push({ row, ...(await this.changeOf(caller, values, { roles, mayUpdate })) });
      } catch (error) {
        if (!(error instanceof InvalidInputError)) throw error;
        refused.push({ row, reason: error.userMessage });
      }
    }
    if (refused.length > 0) throw refusal(refused);
    return changes;
  }

  private async changeOf(
    caller: Caller,
    { roles: roleNames = '', password, sex, status, ...values }: Partial<UserRow>,
    { roles, mayUpdate }: { readonly roles: readonly Role[]; readonly mayUpdate: boolean },
  ): Promise<{ create: NewUserDto } | { update: ChangedUserDto }> {
    const fields = {
      ...values,
      ...(sex && { sex: SEX[sex.toLowerCase()] ?? sex }),
      ...(status && { status: STATUS[status.toLowerCase()] ?? status }),
      ...(roleNames && { roleIds: roleIdsOf(roleNames, roles) }),
    };
    const existing = await this.repository.byName(caller.tenantId, values.userName ?? '');
    if (!existing) return { create: await this.input(NewUserDto, { ...fields, password }) };
    if (!mayUpdate) {
      throw new InvalidInputError(
        msg`there is a user of this name. Allow changes of existing users, or remove the row.`,
      );
    }
    return { update: await this.input(ChangedUserDto, { ...fields, userId: existing.id }) };
  }

  private input<Dto>(metatype: Type<Dto>, value: object): Promise<Dto> {
    return this.pipe.transform(value, { type: 'body', metatype }) as Promise<Dto>;
  }

  /** Hashes passwords one after the other, so that sign-ins keep their places, and before the transaction, because it takes seconds. */
  private async hashed(
    changes: readonly Change[],
  ): Promise<readonly { row: number; create: NewUserDto; passwordHash: string }[]> {
    const hashed = [];
    for (const change of changes) {
      if (!('create' in change)) continue;
      hashed.push({ ...change, passwordHash: await this.passwords.hash(change.create.password) });
    }
    return hashed;
  }
}

/** The message names the first rows, the data all of them. */
function refusal(rows: readonly RefusedRow[]): InvalidInputError {
  const named = rows
    .slice(0, MAX_NAMED_ROW_COUNT)
    .map(({ row, reason }) => msg`Row ${row}: ${reason}`);
  const remainingCount = rows.length - MAX_NAMED_ROW_COUNT;
  const others = remainingCount > 0 ? [msg`${remainingCount} more rows are refused.`] : [];
  const message = sentences([msg`Nothing was imported.`, ...named, ...others]);
  const refusedRows = rows.map(({ row, reason }) => ({ row, reason: localized(reason) }));
  return new InvalidInputError(message, { data: { rows: refusedRows } });
}

/** Rows that have a value, with their numbers as spreadsheets count them; empty cells are left out. */
function rowsOf(
  sheet: readonly (readonly string[])[],
): readonly (readonly [row: number, values: Partial<UserRow>])[] {
  const [headers = [], ...rows] = sheet;
  const fields = headers.map((header) => fieldOf(header));
  if (!fields.includes('userName')) {
    throw new InvalidInputError(
      msg`The first row has no column "${COLUMNS.userName}". Use the headers of the template.`,
    );
  }
  const filledRows = rows.flatMap((cells, index) => {
    const values = cells.flatMap((cell, at) => {
      const field = fields[at];
      return field && cell !== '' ? [[field, cell] as const] : [];
    });
    return values.length === 0 ? [] : [[index + 2, Object.fromEntries(values)] as const];
  });
  if (filledRows.length === 0)
    throw new InvalidInputError(msg`The workbook has no rows below its headers.`);
  if (filledRows.length <= MAX_ROWS) return filledRows;
  throw new InvalidInputError(msg`The workbook has more than ${MAX_ROWS} rows. Split it.`);
}

function fieldOf(header: string): keyof UserRow | undefined {
  const entries = Object.entries(COLUMNS) as [keyof UserRow, string][];
  return entries.find(([, name]) => name.toLowerCase() === header.toLowerCase())?.[0];
}

function roleIdsOf(names: string, roles: readonly Role[]): number[] {
  return names
    .split(/[,，]/)
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => {
      const role = roles.find(({ roleName, roleKey }) => [roleName, roleKey].includes(name));
      if (role) return role.id;
      throw new InvalidInputError(msg`it names a role that does not exist.`);
    });
}

async function ofRow(row: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DomainError) || error.code >= 500) throw error;
    // Existing clients show the message as HTML, and it may have a name of the file in it.
    const message = withTexts(error.userMessage, (text) =>
      text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
    );
    throw new InvalidInputError(
      sentences([msg`Nothing was imported.`, msg`Row ${row}: ${message}`]),
      { data: { rows: [{ row, reason: localized(error.userMessage) }] } },
    );
  }
}
