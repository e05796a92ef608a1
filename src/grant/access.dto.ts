import { ArrayMaxSize, IsArray, ValidateIf } from 'class-validator';
import { ApiProperty } from '@nestjs/swagger';
import {
  Flag,
  Id,
  Input,
  Nested,
  OneOf,
  pageFields,
  PROPERTY,
  ruleText,
  Text,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { LEVEL_NAMES, MAX_GRANTS, REACHED_TYPES, SUBJECT, SUBJECT_KINDS } from './grant.rules.js';

const subject = {
  max: 40,
  pattern: SUBJECT,
  patternMessage: msg`must be tenant, user:ID, role:ID or group:ID`,
  example: 'group:9',
};

export class GrantInput extends Input({
  subject: Text({ ...subject, description: 'tenant, user:ID, role:ID or group:ID' }),
  level: OneOf(LEVEL_NAMES, {
    description:
      'use: search it and get answers from it, or call it; read: see its content and settings; write: change it; manage: delete and grant it. Each includes those before it',
  }),
}) {}

export class ReplaceGrantsBody {
  @ApiProperty({
    type: [GrantInput],
    maxItems: MAX_GRANTS,
    nullable: true,
    description:
      'All grants of the record; those that are not in the list are removed. Null, of a document alone: it has no readers of its own, those of its base may read it',
  })
  @ValidateIf(({ grants }: ReplaceGrantsBody) => grants !== null)
  @IsArray({ message: ruleText(msg`${PROPERTY} must be a list`) })
  @ArrayMaxSize(MAX_GRANTS, {
    message: ruleText(msg`${PROPERTY} must have at most ${MAX_GRANTS} entries`),
  })
  @Nested(() => GrantInput, { each: true, message: msg`${PROPERTY} must be a list of objects` })
  grants: GrantInput[] | null;
}

export class SubjectQuery extends Input({
  name: Text({ optional: true, max: 64, description: 'Part of the name' }),
  kind: OneOf(SUBJECT_KINDS, { optional: true }),
}) {}

export class GrantedQuery extends Input({
  ...pageFields('type', 'id', 'name', 'subject', 'level'),
  subject: Text({
    ...subject,
    optional: true,
    description: 'Of a user: with what their roles and groups have. Absent: the caller',
  }),
  type: OneOf(REACHED_TYPES, { optional: true }),
}) {}

export class RecordQuery extends Input({
  ...pageFields('type', 'id', 'name', 'ownerName', 'grantCount'),
  name: Text({ optional: true, max: 64, description: 'Part of the name' }),
  type: OneOf(REACHED_TYPES, { optional: true }),
  unmanaged: Flag({
    optional: true,
    description:
      'true: those without a manager, because their owners were deleted or disabled. Models are administered by permission and never among them',
  }),
}) {}

export class ExplainQuery extends Input({
  user: Id({ description: 'The id of the user' }),
  type: OneOf(REACHED_TYPES),
  id: Id({ description: 'The id of the record' }),
}) {}
