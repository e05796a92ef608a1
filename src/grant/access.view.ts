import {
  flag,
  integer,
  list,
  nullable,
  oneOf,
  someOf,
  text,
  texts,
  View,
} from '../platform/http/index.js';
import { LEVEL_NAMES, REACHED_TYPES, RESOURCE_TYPES, SUBJECT_KINDS } from './grant.rules.js';
import type { GrantLevel, ReachedType, ResourceType, SubjectKind } from './grant.rules.js';

const subjectFields = {
  subject: text({ example: 'group:9' }),
  kind: oneOf<SubjectKind>(SUBJECT_KINDS),
  name: nullable(text({ example: 'Engineering', description: 'null for the tenant' })),
};

export class SubjectView extends View(subjectFields) {}

export class AccessGrantView extends View({
  ...subjectFields,
  level: oneOf<GrantLevel>(LEVEL_NAMES),
}) {}

export class AccessView extends View({
  type: oneOf<ResourceType>(RESOURCE_TYPES),
  id: integer({ example: 1 }),
  name: text({ example: 'Handbook' }),
  levels: someOf(LEVEL_NAMES, { description: 'The levels that can be granted' }),
  grants: nullable(
    list(AccessGrantView, {
      description: 'Highest level first; null for a document that every user of its base may read',
    }),
  ),
}) {}

export class GrantedRecordView extends View({
  type: oneOf<ResourceType>(RESOURCE_TYPES),
  id: integer({ example: 1 }),
  name: text({ example: 'Handbook' }),
  subject: text({ example: 'tenant', description: 'The subject of the grant' }),
  level: oneOf<GrantLevel>(LEVEL_NAMES),
}) {}

export class AccessRecordView extends View({
  type: oneOf<ReachedType>(REACHED_TYPES),
  id: integer({ example: 1 }),
  name: text({ example: 'Handbook' }),
  ownerId: nullable(
    integer({ example: 7, description: 'The user who made it; null for a model, or once deleted' }),
  ),
  ownerName: nullable(
    text({ example: 'Jo', description: 'null without an owner, or for one of another tenant' }),
  ),
  grantCount: integer({ example: 3, description: 'GET /access/{type}/{id} has the grants' }),
  unmanaged: flag({ description: 'Whether no enabled user, role or group has the level manage' }),
}) {}

export class ExplanationView extends View({
  level: nullable(
    oneOf<GrantLevel>(LEVEL_NAMES, { description: 'The highest level of the user; null: none' }),
  ),
  isSuperAdmin: flag({ description: 'Super administrators need no grant' }),
  grants: list(AccessGrantView, {
    description: 'The grants that the user has, highest level first',
  }),
  missing: texts({
    example: [],
    description: 'What the user lacks for the levels of the record, and what to do',
  }),
}) {}
