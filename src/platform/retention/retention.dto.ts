import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray } from 'class-validator';
import {
  Flag,
  flag,
  Input,
  integer,
  list,
  Nested,
  nullable,
  OneOf,
  oneOf,
  ruleText,
  StrictFields,
  Text,
  text,
  time,
  View,
  Whole,
} from '../http/index.js';
import { msg } from '../message/index.js';
import { RECORD_CLASSES, TEMPORARY_CHAT_POLICIES } from './retention.entity.js';

export const MAX_DAYS = 36_500;

@StrictFields()
export class RetentionRuleBody extends Input({
  recordClass: OneOf(RECORD_CLASSES),
  days: Whole({
    min: 1,
    max: MAX_DAYS,
    example: 90,
    description: 'Days since the last use of a chat, run or response, else since it was made',
  }),
}) {}

function Rules(): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      type: [RetentionRuleBody],
      description: 'Replaces the rules that there are. A class without a rule is kept',
    }),
    IsArray({ message: ruleText(msg`rules must be a list`) }),
    ArrayMaxSize(RECORD_CLASSES.length, {
      message: ruleText(msg`rules has more than ${RECORD_CLASSES.length} entries`),
    }),
    Nested(() => RetentionRuleBody, {
      each: true,
      message: msg`each entry of rules must be an object`,
    }),
  );
}

@StrictFields()
export class OwnRetentionBody {
  @Rules() rules: RetentionRuleBody[];
}

@StrictFields()
export class RetentionBody extends Input({
  temporaryChats: OneOf(TEMPORARY_CHAT_POLICIES, {
    optional: true,
    description:
      'Whether chats can, must or cannot be temporary; unchanged when not given. enforced: chats that there are stay',
  }),
  traceContent: Flag({
    optional: true,
    description:
      'Whether traces have prompts, answers and arguments of tools, within 10 seconds; unchanged when not given',
  }),
}) {
  @Rules() rules: RetentionRuleBody[];
}

export class RetentionRuleView extends View({
  recordClass: oneOf(RECORD_CLASSES),
  days: nullable(integer({ example: 90, description: 'null: no rule' })),
  minDays: integer({ example: 1 }),
  maxDays: nullable(
    integer({ description: 'The limit above this rule; it counts where there is no rule' }),
  ),
}) {}

export class RetentionView extends View({
  rules: list(RetentionRuleView),
  temporaryChats: oneOf(TEMPORARY_CHAT_POLICIES, {
    description: 'Whether chats can, must or cannot be temporary',
  }),
  traceContent: flag({
    description: 'Whether traces, where the operator records them, have prompts and answers',
  }),
}) {}

export class HoldBody extends Input({
  reason: Text({ max: 500, example: 'Proceedings 12/2026', description: 'Why; shown in the list' }),
}) {}

export class HoldView extends View({
  userId: integer({ example: 3 }),
  userName: text({ example: 'anna' }),
  reason: text(),
  placedBy: nullable(text({ description: 'The user who placed it; null if deleted' })),
  createTime: time(),
}) {}
