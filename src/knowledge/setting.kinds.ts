import type { Type } from '@nestjs/common';
import { Derived, Double, Integer, Smallint, Varchar } from '../platform/database/index.js';
import {
  Decimal,
  decimal,
  defined,
  integer,
  nullable,
  OneOf,
  oneOf,
  schema,
  Text,
  text,
  Whole,
  ZeroOrOne,
  zeroOrOne,
} from '../platform/http/index.js';
import type { Field } from '../platform/http/index.js';

type ViewField<Value> = ReturnType<typeof schema<Value>>;

/** A setting of a record: its column, its fields in bodies and answers, its default. */
export interface Setting<Stored = unknown, Sent = unknown, Shown = unknown> {
  readonly column: PropertyDecorator;
  readonly field: Field<Sent, true>;
  /** Schema with `x-setting`, from which the client generates the table for the form of the console. */
  readonly view: ViewField<Shown>;
  /** The value of a new record, and of one that an empty text has cleared. */
  readonly initial: Stored;
  readonly about: About;
  /** A name is stored without the spaces around it. */
  readonly isName?: true;
}

/** The setting that names a model. */
interface ModelSetting<Stored> extends Setting<Stored, string | null, string> {
  readonly category: string;
}

export type Settings = Readonly<Record<string, Setting>>;
type StoredOf<Table extends Settings> = {
  -readonly [Name in keyof Table]: Table[Name] extends Setting<infer Stored> ? Stored : never;
};
type ShownOf<Table extends Settings> = {
  [Name in keyof Table]: Table[Name] extends Setting<unknown, unknown, infer Shown> ? Shown : never;
};

interface About {
  /** Section of the console's form. */
  readonly section: string;
  /** The setting that must be on for this one to have an effect. */
  readonly onlyWith?: string;
  /**
   * Output of parsing that the setting determines. Changing a setting that determines `vectors` is refused for an
   * indexed base unless its documents are parsed again.
   */
  readonly parsing?: 'fragments' | 'vectors';
  readonly description?: string;
  readonly example?: unknown;
}

interface TextAbout extends About {
  readonly max: number;
  readonly required?: true;
}

interface NumberAbout extends About {
  readonly min?: number;
  readonly max?: number;
  /** Step of the buttons of its form field. */
  readonly step?: number;
}

/** One line of text. An absent value is `initial` in the column and '' in answers. */
export function line<Initial extends string | null>(
  initial: Initial,
  about: TextAbout,
): Setting<string | Initial, string | null, string> {
  return { ...textSetting('line', initial, about), isName: true };
}

/** A name that every record has. */
export function requiredLine(about: TextAbout): Setting<string, string | null, string> {
  const { max } = about;
  return { ...line('', { ...about, required: true }), column: Varchar(max) };
}

/** A line that is kept with the spaces around it. */
export function literal(about: TextAbout): Setting<string | null, string | null, string> {
  return textSetting('line', null, about);
}

export function paragraph(about: TextAbout): Setting<string | null, string | null, string> {
  return textSetting('paragraph', null, about);
}

/** The modelName of a model of the category. */
export function model<Initial extends string | null>(
  category: string,
  initial: Initial,
  about: About,
): ModelSetting<string | Initial> {
  const setting = textSetting('model', initial, { ...about, max: 200 }, { category });
  return { ...setting, isName: true, category };
}

export function whole<Initial extends number | null>(
  initial: Initial,
  about: NumberAbout,
): Setting<number | Initial, number | null, number | Initial> {
  const { min, max } = about;
  return {
    column: Integer(columnOptions(initial)),
    field: Whole({ optional: true, clearable: true, ...defined({ min, max }), ...texts(about) }),
    view: formField('whole', numberView(integer(texts(about)), initial), initial, about),
    initial,
    about,
  };
}

export function decimalNumber<Initial extends number | null>(
  initial: Initial,
  about: NumberAbout,
): Setting<number | Initial, number | null, number | Initial> {
  const { min, max } = about;
  return {
    column: Double(columnOptions(initial)),
    field: Decimal({ optional: true, clearable: true, ...defined({ min, max }), ...texts(about) }),
    view: formField('decimal', numberView(decimal(texts(about)), initial), initial, about),
    initial,
    about,
  };
}

/** 1 for on, 0 for off. It cannot be cleared. */
export function onOff(initial: 0 | 1, about: About): Setting<number, number, number> {
  return {
    column: Smallint(columnOptions(initial)),
    field: ZeroOrOne({ optional: true, ...texts(about) }),
    view: formField('switch', zeroOrOne({ example: initial, ...texts(about) }), initial, about),
    initial,
    about,
  };
}

/** A setting that is kept in another table: the SQL reads it, and its feature writes it. */
export function derived<Stored extends number>(
  sql: (row: string) => string,
  setting: Setting<Stored, Stored, Stored>,
): Setting<Stored, Stored, Stored> {
  return { ...setting, column: Derived('integer', sql) };
}

/** One of the values. It cannot be cleared. */
export function choice<Value extends string>(
  values: readonly Value[],
  initial: Value,
  about: About,
): Setting<Value, Value, Value> {
  return {
    column: Varchar(20, columnOptions(initial)),
    field: OneOf(values, { optional: true, example: initial, ...texts(about) }),
    view: formField(
      'choice',
      oneOf<Value>(values, { example: initial, ...texts(about) }),
      initial,
      about,
    ),
    initial,
    about,
  };
}

/** A class with the columns of the settings, for an entity to extend. */
export function Columns<Table extends Settings>(settings: Table): Type<StoredOf<Table>> {
  class SettingColumns {}
  for (const [name, { column }] of entries(settings)) column(SettingColumns.prototype, name);
  return SettingColumns as Type<StoredOf<Table>>;
}

/** The fields of bodies. */
export function inputFields<Table extends Settings>(
  settings: Table,
): { [Name in keyof Table]: Table[Name]['field'] } {
  return mapped(settings, ({ field }) => field);
}

/** The fields of answers. */
export function viewFields<Table extends Settings>(
  settings: Table,
): { [Name in keyof Table]: Table[Name]['view'] } {
  return mapped(settings, ({ view }) => view);
}

/** The settings of a record as they are in answers: an absent text is ''. */
export function shownSettings<Table extends Settings>(
  settings: Table,
  record: StoredOf<Table>,
): ShownOf<Table> {
  return mapped(
    settings,
    ({ view }, name) => record[name] ?? (view.schema.type === String ? '' : null),
  );
}

/** The columns that a body changes: cleared settings go back to their defaults, names lose the spaces around them. */
export function changedColumns<Table extends Settings>(
  settings: Table,
  body: object,
): Partial<StoredOf<Table>> {
  const values = Object.entries<unknown>({ ...body }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    values.map(([name, value]) => [name, stored(settings[name], value)]),
  ) as Partial<StoredOf<Table>>;
}

function stored(setting: Setting | undefined, value: unknown): unknown {
  if (value === null) return setting?.initial ?? null;
  return setting?.isName && typeof value === 'string' ? value.trim() : value;
}

export function entries<Table extends Settings>(
  settings: Table,
): [keyof Table & string, Table[keyof Table]][] {
  return Object.entries(settings) as [keyof Table & string, Table[keyof Table]][];
}

function mapped<Table extends Settings>(
  settings: Table,
  map: (setting: Setting, name: keyof Table & string) => unknown,
): Record<keyof Table, never> {
  return Object.fromEntries(
    entries(settings).map(([name, setting]) => [name, map(setting, name)]),
  ) as Record<keyof Table, never>;
}

function textSetting<Initial extends string | null>(
  kind: string,
  initial: Initial,
  about: TextAbout,
  inForm: object = {},
): Setting<string | Initial, string | null, string> {
  const { max } = about;
  return {
    column: Varchar(max, columnOptions(initial)),
    field: Text({ optional: true, clearable: true, max, ...texts(about) }),
    view: formField(kind, text({ example: '', ...texts(about) }), initial, { ...about, ...inForm }),
    initial,
    about,
  };
}

function columnOptions(initial: string | number | null) {
  if (initial === null) return { nullable: true };
  // The catalogue of PostgreSQL has the default of a fraction as an expression.
  return {
    default:
      Number.isInteger(initial) || typeof initial === 'string' ? initial : () => String(initial),
  };
}

function numberView<Initial extends number | null>(
  field: ViewField<number>,
  initial: Initial,
): ViewField<number | Initial> {
  return (initial === null ? nullable(field) : field) as ViewField<number | Initial>;
}

function texts({ description, example }: About): { description?: string; example?: unknown } {
  return defined({ description, example });
}

/** The field of an answer, with what the client's table says of the setting. */
function formField<Value>(
  kind: string,
  field: ViewField<Value>,
  initial: unknown,
  { description: _, example: __, ...inForm }: About,
): ViewField<Value> {
  const setting = { kind, ...(initial === null && { optional: true }), ...inForm };
  return schema(Object.assign({ 'x-setting': setting }, field.schema));
}
