import type { Type } from '@nestjs/common';
import { Double, Integer, nullable as nullableColumn } from '../platform/database/index.js';
import { Decimal, integer, nullable, number, Whole } from '../platform/http/index.js';
import type { Generation } from '../provider/index.js';

/** A number that agents and messages set. */
interface GenerationSetting {
  readonly isWhole: boolean;
  readonly min: number;
  readonly max: number;
  /** Beginning of the description of the agent's field. */
  readonly description?: string;
}

const CLEARED = 'An empty text clears it';
const MODELS_OWN = '; default: that of the model';
const SHOWN = { description: 'null: the default of the model' };

/**
 * The generation parameters that an agent has. Its columns, the fields of its bodies and its answer, those of messages and what a
 * turn is generated with follow from an entry; the column needs a migration.
 */
const generationSettings = {
  temperature: { isWhole: false, min: 0, max: 2 },
  topP: { isWhole: false, min: 0, max: 1 },
  maxTokens: {
    isWhole: true,
    min: 1,
    max: 2_147_483_647,
    description: 'Maximum tokens of an answer',
  },
} as const satisfies Partial<Record<keyof Generation, GenerationSetting>>;

type SettingName = keyof typeof generationSettings;

export const generationSettingNames = Object.keys(generationSettings) as readonly SettingName[];

/** Stored values; null selects the model's default. */
export type StoredGeneration = Record<SettingName, number | null>;

/** A class with their columns, for the entity to extend. */
export function GenerationColumns(): Type<StoredGeneration> {
  class Columns {}
  for (const [name, { isWhole }] of entries()) {
    const column = isWhole ? Integer(nullableColumn) : Double(nullableColumn);
    column(Columns.prototype, name);
  }
  return Columns as Type<StoredGeneration>;
}

/** The fields of the bodies that create and change agents. */
export const generationFields = mapped(({ isWhole, min, max, description = CLEARED }) => {
  const about = {
    optional: true,
    clearable: true,
    min,
    max,
    description: description + MODELS_OWN,
  } as const;
  return isWhole ? Whole(about) : Decimal(about);
});

/** The fields of a message, which take precedence over the agent's. */
export const messageGenerationFields = {
  ...mapped(({ isWhole, min, max }) => {
    const about = { optional: true, min, max } as const;
    return isWhole ? Whole(about) : Decimal(about);
  }),
  maxTokens: Whole({
    optional: true,
    min: 1,
    max: 1_000_000,
    description: 'Maximum tokens of the answer',
  }),
};

/** The fields of an agent's answer. */
export const generationView = mapped(({ isWhole }) =>
  nullable(isWhole ? integer(SHOWN) : number(SHOWN)),
);

function entries(): (readonly [SettingName, GenerationSetting])[] {
  return generationSettingNames.map((name) => [name, generationSettings[name]]);
}

function mapped<Value>(valueOf: (setting: GenerationSetting) => Value): Record<SettingName, Value> {
  return Object.fromEntries(entries().map(([name, setting]) => [name, valueOf(setting)])) as Record<
    SettingName,
    Value
  >;
}
