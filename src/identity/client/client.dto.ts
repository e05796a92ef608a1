import {
  BasedOnRevision,
  Flag,
  flag,
  Id,
  Input,
  nullable,
  number,
  OneOf,
  oneOf,
  pageFields,
  recordRevision,
  sheetOf,
  text,
  Text,
  texts,
  Texts,
  time,
  View,
  Whole,
} from '../../platform/http/index.js';
import type { Client } from './client.entity.js';

const STATUS = ['0', '1'];
/** Ten years in seconds; the integer column could hold 68 years. */
const TEN_YEARS = 315_360_000;

export class ClientListQuery extends Input({
  ...pageFields(
    'id',
    'clientId',
    'clientKey',
    'grantType',
    'deviceType',
    'activeTimeout',
    'timeout',
    'status',
    'createTime',
  ),
  clientId: Text({ optional: true }),
  clientKey: Text({ optional: true, description: 'Part of the key' }),
  status: Text({ optional: true, description: '0 enabled, 1 disabled' }),
}) {}

/** Settings for clients that read only `content` of a message (docs/WIRE.md, Clients that read only content). */
const INLINE = {
  thinking: 'Lists of messages have the thinking text in `content`, between <think> and </think>',
  sources: 'An answer from knowledge bases ends with a paragraph that names its sources',
  failures: 'The reason why an answer failed, or that it was cut, is part of its text',
};

/** The optional fields of a client. */
const clientFields = {
  deviceType: Text({ optional: true, max: 32, example: 'pc' }),
  activeTimeout: Whole({
    optional: true,
    min: 1,
    max: TEN_YEARS,
    description: 'Seconds without a request after which a sign-in ends; applies to new sign-ins',
  }),
  timeout: Whole({
    optional: true,
    min: 1,
    max: TEN_YEARS,
    description: 'Seconds after which a sign-in ends in any case; applies to new sign-ins',
  }),
  status: OneOf(STATUS, { optional: true }),
  inlineThinking: Flag({ optional: true, description: INLINE.thinking }),
  inlineSources: Flag({ optional: true, description: INLINE.sources }),
  inlineFailures: Flag({ optional: true, description: INLINE.failures }),
};

export class NewClientDto extends Input({
  ...clientFields,
  clientKey: Text({ max: 32, example: 'mobile' }),
  clientSecret: Text({ max: 200, description: 'Stored as a digest and never returned' }),
  grantTypeList: Texts({ max: 32, maxItems: 7, example: ['password'], description: 'Grant types' }),
}) {}

export class ChangedClientDto extends Input({
  ...clientFields,
  id: Id(),
  revision: BasedOnRevision(),
  clientKey: Text({ optional: true, min: 1, max: 32 }),
  clientSecret: Text({
    optional: true,
    max: 200,
    description: 'Empty or ******: the stored one stays',
  }),
  grantTypeList: Texts({ optional: true, max: 32, maxItems: 7 }),
}) {}

export class ClientStatusDto extends Input({
  id: Id({ optional: true }),
  clientId: Text({ optional: true, max: 64, description: 'Instead of id' }),
  status: OneOf(STATUS),
}) {}

/** Shown in place of the secret, and read as "unchanged": the form of existing consoles sends back what it shows. */
export const HIDDEN_SECRET = '******';

/** A client without its secret. */
export class ClientView extends View({
  id: number({ example: 1 }),
  revision: recordRevision(),
  clientId: text({ example: 'e5cd7e4891bf95d1d19206ce24a7b32e' }),
  clientKey: text({ example: 'pc' }),
  clientSecret: oneOf([HIDDEN_SECRET], { description: 'Never the secret' }),
  grantTypeList: texts({ example: ['password'] }),
  grantType: text({ example: 'password' }),
  deviceType: nullable(text({ example: 'pc' })),
  activeTimeout: number({ example: 1_800 }),
  timeout: number({ example: 604_800 }),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  inlineThinking: flag({ description: INLINE.thinking }),
  inlineSources: flag({ description: INLINE.sources }),
  inlineFailures: flag({ description: INLINE.failures }),
  createTime: time(),
}) {}

export const clientSheet = sheetOf<ClientView>('Clients', {
  id: 'Id',
  clientId: 'Client id',
  clientKey: 'Key',
  grantTypeList: 'Grant types',
  deviceType: 'Device type',
  activeTimeout: 'Idle time (s)',
  timeout: 'Life time (s)',
  status: ['Status', { 0: 'Enabled', 1: 'Disabled' }],
  createTime: 'Created',
});

export function toClientView(client: Client): ClientView {
  return ClientView.of(client, {
    clientSecret: HIDDEN_SECRET,
    grantTypeList: client.grantType.split(','),
  });
}
