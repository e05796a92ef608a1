import { Catch } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { InvalidInputError, setEnvelopeCode } from '../platform/error/index.js';
import { SseWriter } from '../platform/http/index.js';
import { errorFrames } from './chat.frames.js';

/** Far longer than this stream lasts. */
const NO_PING = 60_000;

/** Answers invalid fields of a chat message as a stream, because clients of this route read nothing else. */
@Catch(InvalidInputError)
export class ChatErrorFilter implements ExceptionFilter {
  catch(error: InvalidInputError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    setEnvelopeCode(response, error.code);
    const writer = new SseWriter(response, NO_PING);
    writer.start();
    writer.write(errorFrames(error.message));
    writer.end();
  }
}
