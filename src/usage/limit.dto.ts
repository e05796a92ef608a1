import { MAX_TAG_CHARS, TAG } from '../platform/access/index.js';
import { Decimal, Id, Input, OneOf, pageFields, Text, Whole } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { MEASURES, SCOPES } from './limit.entity.js';
import { MIN_AMOUNT } from './price.entity.js';

/** The largest number that the column holds and a client reads exactly. */
const MAX_CAP = 1_000_000_000_000;

const cap = Decimal({
  min: 0,
  max: MAX_CAP,
  smallest: MIN_AMOUNT,
  example: 1_000_000,
  description:
    'Requests, calls, tokens, or an amount in the currency of the prices with 6 decimals. 0 refuses every call that uses something',
});

const filters = {
  scope: OneOf(SCOPES, { optional: true }),
  measure: OneOf(MEASURES, { optional: true }),
  userId: Id({ optional: true }),
  apiKeyId: Id({ optional: true }),
  modelId: Id({ optional: true }),
  groupId: Id({ optional: true }),
  tag: Text({ optional: true, max: MAX_TAG_CHARS }),
};

export class LimitListQuery extends Input({
  ...pageFields('id', 'scope', 'measure', 'cap', 'createTime'),
  ...filters,
}) {}

export class NewLimitDto extends Input({
  scope: OneOf(SCOPES, { description: 'Who or what is limited' }),
  userId: Id({ optional: true, description: 'Of the scope user. Absent: each user has the limit' }),
  apiKeyId: Whole({
    optional: true,
    min: 1,
    description: 'Of the scope key. Absent: each key has the limit',
  }),
  modelId: Id({
    optional: true,
    description: 'Of the scope model. Absent: each model has the limit',
  }),
  groupId: Id({
    optional: true,
    description: 'Of the scope group. Absent: each group has the limit',
  }),
  tag: Text({
    optional: true,
    min: 1,
    max: MAX_TAG_CHARS,
    pattern: TAG,
    patternMessage: msg`must be a tag: without commas, and without spaces around it`,
    description: 'Of the scope tag. Absent: each tag has the limit',
  }),
  measure: OneOf(MEASURES),
  cap,
}) {}

export class ChangedLimitDto extends Input({ id: Id(), cap }) {}
