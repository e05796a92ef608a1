import { ArrayMaxSize, IsArray } from 'class-validator';
import { ApiProperty } from '@nestjs/swagger';
import {
  AnyObject,
  BasedOnRevision,
  Flag,
  Id,
  Input,
  Nested,
  OneOf,
  pageFields,
  PROPERTY,
  ruleText,
  Text,
  Whole,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { CONSENTS } from '../effect/index.js';
import { SERVER_ACCOUNTS, SERVER_AUTHS } from './tool-server.entity.js';

const MAX_CHANGED_TOOLS = 1_000;
const NAME = {
  max: 60,
  pattern: /^[A-Za-z][\w-]*$/,
  patternMessage: msg`must begin with a letter and have only letters, digits, _ and -`,
  description: 'Unique in the tenant; the prefix of tools whose names collide',
  example: 'crm',
};
const ADDRESS = {
  max: 2_000,
  pattern: /^https?:\/\/[^/]/i,
  patternMessage: msg`must be an address that begins with https:// or http://`,
  description: 'Where the server speaks MCP over Streamable HTTP',
  example: 'https://crm.example.com/mcp',
};

export class ToolServerListQuery extends Input({
  ...pageFields('id', 'name', 'address', 'enabled', 'createTime', 'updateTime', {
    listTime: 'listedAt',
  }),
  name: Text({ optional: true, description: 'Part of the name' }),
}) {}

const serverFields = {
  description: Text({ optional: true, max: 500, clearable: true }),
  auth: OneOf(SERVER_AUTHS, {
    optional: true,
    description:
      'none: open; token: a bearer token; headers: any headers; oauth: tokens of an account. Default none',
  }),
  account: OneOf(SERVER_ACCOUNTS, {
    optional: true,
    description:
      'For auth oauth. personal: each user connects their own; shared: one who may change the server connects it; client: Plinth’s own, by client credentials. Default personal',
  }),
  clientId: Text({
    optional: true,
    max: 500,
    clearable: true,
    description:
      'For auth oauth: Plinth at the authorization server. Empty: it introduces itself there. Another one, or another address, ends all accounts',
  }),
  clientSecret: Text({
    optional: true,
    max: 10_000,
    description: 'Of clientId. Absent: stays while clientId and address stay the same',
  }),
  scope: Text({
    optional: true,
    max: 1_000,
    clearable: true,
    description: 'For auth oauth: what to ask for. Empty: what the server names',
  }),
  token: Text({
    optional: true,
    max: 10_000,
    description: 'For auth token. Absent: stays while the origin of the address stays the same',
  }),
  headers: AnyObject({
    optional: true,
    description:
      'For auth headers: names and texts. Absent: stays while the origin of the address stays the same',
    example: { 'X-Api-Key': 'k-123' },
  }),
  timeoutSeconds: Whole({
    optional: true,
    min: 1,
    max: 600,
    description: 'Time limit of a call; default 60',
  }),
  enabled: Flag({ optional: true, description: 'Whether its tools are offered; default true' }),
};

export class CreateToolServerBody extends Input({
  ...serverFields,
  name: Text(NAME),
  address: Text(ADDRESS),
}) {}

export class UpdateToolServerBody extends Input({
  ...serverFields,
  id: Id(),
  revision: BasedOnRevision(),
  name: Text({ ...NAME, optional: true }),
  address: Text({ ...ADDRESS, optional: true }),
}) {}

export class ServerToolChange extends Input({
  id: Id({ description: 'The tool' }),
  consent: OneOf(CONSENTS, {
    optional: true,
    description:
      'always: it is called without asking; ask: a person decides on each call; never: it is not offered',
  }),
  accept: Text({
    optional: true,
    max: 64,
    description:
      'listedHash of the text that was read: models get it from now on. 409 if the server lists another one',
  }),
}) {}

export class ChangeServerToolsBody {
  @ApiProperty({ type: [ServerToolChange], maxItems: MAX_CHANGED_TOOLS })
  @IsArray({ message: ruleText(msg`${PROPERTY} must be a list`) })
  @ArrayMaxSize(MAX_CHANGED_TOOLS, {
    message: ruleText(msg`${PROPERTY} must have at most ${MAX_CHANGED_TOOLS} entries`),
  })
  @Nested(() => ServerToolChange, {
    each: true,
    message: msg`${PROPERTY} must be a list of objects`,
  })
  tools: ServerToolChange[];
}
