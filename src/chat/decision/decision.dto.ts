import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import {
  AnyObject,
  Flag,
  Input,
  Nested,
  nullable,
  OneOf,
  oneOf,
  ruleText,
  StrictFields,
  Text,
  text,
  UUID,
  uuid,
  View,
} from '../../platform/http/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { OPEN_EFFECTS, RESOLUTIONS, SETTLED_EFFECTS } from '../../effect/index.js';

/** Reads the id of a turn or call out of a path, in lower case. Any other text names nothing. */
@Injectable()
export class UuidPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    const id = value.toLowerCase();
    if (!UUID.test(id)) throw new NotFoundError(msg`The tool call`);
    return id;
  }
}

/** Calls of one answer at most. */
const MAX_DECISIONS = 40;

const CALL_DECISIONS = ['once', 'chat', 'deny'] as const;

/** The decision about one call. */
export class CallDecisionBody extends Input({
  callId: Text({ max: 36, description: 'callId of the call that waits' }),
  decision: OneOf(CALL_DECISIONS, {
    description: 'once allows this call, chat the tool for the rest of the chat',
  }),
  argumentsSha256: Text({ max: 64, description: 'argumentsSha256 of the call that was shown' }),
  arguments: AnyObject({
    optional: true,
    description: 'Other arguments with which the call is made; the model is told',
  }),
  reason: Text({ optional: true, max: 2_000, description: 'For the model: why it is denied' }),
}) {}

@StrictFields()
export class DecisionsBody {
  @ApiProperty({
    type: [CallDecisionBody],
    description: 'One for each call of the answer that waits',
  })
  @IsArray({
    message: ruleText(msg`decisions must be a list with one entry for each call that waits`),
  })
  @ArrayMinSize(1, {
    message: ruleText(msg`decisions must have an entry for each call that waits`),
  })
  @ArrayMaxSize(MAX_DECISIONS, {
    message: ruleText(msg`decisions has more than ${MAX_DECISIONS} entries`),
  })
  @Nested(() => CallDecisionBody, {
    each: true,
    message: msg`each entry of decisions must be an object`,
  })
  decisions: CallDecisionBody[];

  @Flag({
    optional: true,
    description: 'As of /chat/send; an answer that was sent with it goes on with it',
  })
  detach?: boolean;
}

@StrictFields()
export class ResolveCallBody extends Input({
  resolution: OneOf(RESOLUTIONS, { description: 'What you have found out about the call' }),
  note: Text({ optional: true, max: 4_000, description: 'For the model, and for the record' }),
}) {}

/** A recorded call of a chat turn. */
export class RecordedCallView extends View({
  callId: uuid(),
  toolName: text({ example: 'create_order' }),
  state: oneOf([...OPEN_EFFECTS, ...SETTLED_EFFECTS]),
  resolution: nullable(oneOf(RESOLUTIONS)),
  note: nullable(text()),
}) {}
