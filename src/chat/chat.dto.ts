import { ApiProperty } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import {
  AnyObject,
  Flag,
  flag,
  Id,
  Ids,
  Input,
  Text,
  Texts,
  View,
} from '../platform/http/index.js';
import { FILTER_DESCRIPTION, FILTER_EXAMPLE } from '../metadata/index.js';
import {
  messageGenerationFields,
  RESPONSE_FORMAT,
  RESPONSE_FORMAT_EXAMPLE,
} from '../agent/index.js';
import { MAX_FILES } from './file/chat-file.js';
import { INLINE } from './message.dto.js';

/** One message to a model. Fields that the documented clients do not send are optional additions. */
export class SendBody extends Input({
  model: Text({
    optional: true,
    max: 200,
    description: 'modelName of a chat model; blank means the tenant’s first enabled one',
  }),
  sessionId: Id({
    optional: true,
    description: 'A session of the caller, whose history is sent to the model',
  }),
  regenerate: Id({
    optional: true,
    description:
      'A question of the session, or an answer to one: another answer beside it, without content',
  }),
  editOf: Id({
    optional: true,
    description: 'A question of the session: the message is sent in its place, on another branch',
  }),
  parentId: Id({
    optional: true,
    description: 'A message of the session that this one follows; the last of the current branch',
  }),
  agentId: Id({
    optional: true,
    description:
      'An enabled agent; its model and knowledge bases take precedence over those given here',
  }),
  knowledgeId: Id({ optional: true, description: 'A knowledge base that the caller may read' }),
  filter: AnyObject({
    optional: true,
    description: `${FILTER_DESCRIPTION}; for knowledge bases, not for files of the conversation. That of an agent applies as well`,
    example: FILTER_EXAMPLE,
  }),
  files: Ids({
    optional: true,
    maxItems: MAX_FILES,
    description:
      'ossIds of own uploads: images for models that read them, and documents of the types that knowledge bases parse',
  }),
  enableThinking: Flag({
    optional: true,
    description: 'Request thinking text from models that support it',
  }),
  ...messageGenerationFields,
  responseFormat: AnyObject({
    optional: true,
    description: `The answer is a JSON object of this form, checked before done. ${RESPONSE_FORMAT}. Takes precedence over that of the agent; the type text asks for free text`,
    example: RESPONSE_FORMAT_EXAMPLE,
  }),
  inline: Flag({ optional: true, description: INLINE }),
  detach: Flag({
    optional: true,
    description:
      'The answer goes on without its client, until /chat/stop; GET /chat/turns/{turnId}/stream reads it on. Needs a sessionId',
  }),
  stop: Texts({ optional: true, maxItems: 8, max: 100, description: 'Stop sequences' }),
}) {
  @ApiProperty({ required: false })
  @RequiredUnlessRegenerated()
  @Text({
    max: 1_000_000,
    description: 'The message of the user; absent with regenerate',
    example: 'Hello, what can you do?',
  })
  content: string;
}

/** The question of an answer that is generated again is stored, so its body has none. */
function RequiredUnlessRegenerated(): PropertyDecorator {
  return ValidateIf(
    ({ regenerate, content }: Partial<SendBody>) =>
      regenerate === undefined || content !== undefined,
  );
}

export class StopView extends View({
  stopped: flag({ description: 'False when there was no running answer' }),
}) {}
