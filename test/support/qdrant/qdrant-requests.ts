import type { Schemas } from '@qdrant/js-client-rest';
import { z } from 'zod';

// What Plinth asks of Qdrant, body by body; nothing else is let through.

type RequiredFields<T> = {
  [Field in keyof T]-?: undefined extends T[Field] ? never : Field;
}[keyof T];

/** A field that the client package's type has, with values that it allows; anything else does not compile. */
type Fields<Shape, T> = {
  [Field in keyof Shape]: Field extends keyof T ? z.ZodType<T[Field]> : never;
} & { [Field in RequiredFields<T>]: unknown };

/** The form of a body, or of a part of it, held against a type of the client package. */
function formOf<T>() {
  return <Shape extends z.ZodRawShape & Fields<Shape, T>>(shape: Shape) => z.strictObject(shape);
}

const whole = z.number().int().nonnegative();

const matches = formOf<Schemas['FieldCondition']>()({
  key: z.enum(['tenantId', 'knowledgeId', 'attachmentId']),
  match: formOf<Schemas['MatchValue']>()({ value: z.union([z.string(), whole]) }),
});

const matchesAny = formOf<Schemas['FieldCondition']>()({
  key: z.literal('attachmentId'),
  match: formOf<Schemas['MatchAny']>()({ any: z.array(whole) }),
});

const hasId = formOf<Schemas['HasIdCondition']>()({ has_id: z.array(whole) });

const filter = formOf<Schemas['Filter']>()({
  must: z.array(z.union([matches, matchesAny, hasId])),
});

export type Filter = z.output<typeof filter>;

export const createCollection = formOf<Schemas['CreateCollection']>()({
  vectors: formOf<Schemas['VectorParams']>()({
    size: whole.min(1).max(65_536),
    distance: z.literal('Cosine'),
  }),
  hnsw_config: formOf<Schemas['HnswConfigDiff']>()({
    m: whole,
    payload_m: whole,
    full_scan_threshold: whole.min(10),
  }),
});

export type CollectionSettings = z.output<typeof createCollection>;

export const createFieldIndex = formOf<Schemas['CreateFieldIndex']>()({
  field_name: z.string(),
  field_schema: z.discriminatedUnion('type', [
    formOf<Schemas['KeywordIndexParams']>()({ type: z.literal('keyword'), is_tenant: z.boolean() }),
    formOf<Schemas['IntegerIndexParams']>()({
      type: z.literal('integer'),
      lookup: z.boolean(),
      range: z.boolean(),
    }),
  ]),
});

export type FieldIndex = z.output<typeof createFieldIndex>;

const point = formOf<Schemas['PointStruct']>()({
  id: whole,
  vector: z.array(z.number()),
  payload: z.strictObject({
    tenantId: z.string(),
    knowledgeId: whole,
    attachmentId: whole,
    fragmentId: whole,
  }),
});

export type Point = z.output<typeof point>;

/** The point that names the installation of a collection. */
const marker = formOf<Schemas['PointStruct']>()({
  id: z.literal(0),
  vector: z.array(z.number()),
  payload: z.strictObject({ installation: z.string() }),
});

export type Marker = z.output<typeof marker>;

export const upsertPoints = formOf<Schemas['PointsList']>()({
  points: z.array(z.union([point, marker])).min(1),
});

export const deletePoints = formOf<Schemas['FilterSelector']>()({ filter });

export const queryPoints = formOf<Schemas['QueryRequest']>()({
  query: z.array(z.number()),
  filter,
  params: formOf<Schemas['SearchParams']>()({ hnsw_ef: whole }),
  limit: whole.min(1),
  with_payload: z.literal(false),
});

export const countPoints = formOf<Schemas['CountRequest']>()({
  filter,
  exact: z.literal(true),
});

export const scrollPoints = formOf<Schemas['ScrollRequest']>()({
  filter,
  offset: whole,
  limit: whole.min(1),
  with_payload: z.literal(false),
});

/** A look at the first points of a collection, of any installation. */
export const samplePoints = formOf<Schemas['ScrollRequest']>()({
  offset: whole,
  limit: whole.min(1),
  with_payload: z.literal(true),
});

export const facet = formOf<Schemas['FacetRequest']>()({
  key: z.enum(['tenantId', 'knowledgeId']),
  filter,
  limit: whole.min(1),
  exact: z.literal(true),
});
