import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import type { FormFile } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { MediaService, NoSoundError } from '../../media/index.js';
import { ModelResolver } from '../../model/index.js';
import { isTextFormat, TRANSCRIPT_FORMATS } from '../../provider/index.js';
import type { TranscriptEvent, TranscriptionCall } from '../../provider/index.js';
import { ApiAnswers } from '../answer/api-answers.js';
import { ParameterError, reasonOf } from '../answer/api.errors.js';
import {
  formFields,
  formFlag,
  formNumber,
  modelName,
  parameters,
  plainText,
} from '../answer/parameters.js';
import { DONE_EVENT, dataEvent, openAiFailureEvent } from './openai.errors.js';

const MAX_PROMPT_CHARS = 100_000;

const transcriptionRequest = z.looseObject({
  model: modelName,
  prompt: plainText(MAX_PROMPT_CHARS).optional(),
  response_format: z.enum(TRANSCRIPT_FORMATS).default('json'),
  temperature: formNumber(0, 1).optional(),
  timestamp_granularities: z
    .union([z.string().transform((one) => [one]), z.array(z.string())])
    .pipe(z.array(z.enum(['word', 'segment'])))
    .optional(),
  stream: formFlag.default(false),
});

/** A multipart request of either route. */
interface SoundForm extends Pick<TranscriptionCall, 'task'> {
  readonly body: unknown;
  readonly files: readonly FormFile[];
}

/** POST /v1/audio/transcriptions and /v1/audio/translations. The audio is held in memory until the request is answered. */
@Injectable()
export class OpenAiTranscription {
  constructor(
    private readonly models: ModelResolver,
    private readonly media: MediaService,
    private readonly answers: ApiAnswers,
  ) {}

  /** Answers in the requested format. Fails like MediaService, with the reason of the service, and with ParameterError. */
  async answer(
    caller: Caller,
    { task, body, files }: SoundForm,
    response: Response,
  ): Promise<void> {
    const request = parameters(transcriptionRequest, body);
    const { model, response_format: format, stream, ...further } = request;
    const { id } = await this.models.resolveMedia(caller, model, ['transcription']);
    const [file] = files.filter(({ fieldname }) => fieldname === 'file');
    if (!file) throw new ParameterError('file', msg`The parameter ${'file'} is required.`);
    const streamable = { stream, failureEvent: openAiFailureEvent };
    await this.answers.respond(caller, streamable, response, async (answer) => {
      answer.mayGoOn = (now) => this.models.mayUse(now, id);
      const onEvent = (piece: TranscriptEvent): Promise<void> => answer.write(dataEvent(piece));
      const sound = {
        model,
        bytes: file.buffer,
        task,
        format,
        fields: formFields(further),
        trail: answer.trail,
        ...(stream && { onEvent }),
      };
      const { content, text } = await this.media
        .transcribe(caller, sound, answer.signal)
        .catch((error: unknown) => {
          if (error instanceof NoSoundError) throw new ParameterError('file', error.userMessage);
          throw reasonOf(error);
        });
      if (stream) {
        const beside = typeof content === 'string' ? { text } : content;
        await answer.write(
          dataEvent({ ...beside, type: 'transcript.text.done', text }) + DONE_EVENT,
        );
        answer.finish();
      } else if (typeof content === 'string') {
        answer.send(content, isTextFormat(format) ? 'text/plain' : 'json');
      } else answer.send(JSON.stringify(content));
    });
  }
}
