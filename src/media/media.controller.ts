import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, LoginOnly } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, FormFiles, ReceivesForm, WhileConnected } from '../platform/http/index.js';
import type { FormFile } from '../platform/http/index.js';
import {
  ImageBody,
  MediaResultView,
  PredictionQuery,
  SpeechBody,
  TRANSCRIPTION_FORM,
  TranscriptionBody,
  TranscriptView,
  VideoBody,
  VideoQuery,
} from './media.dto.js';
import { MediaService } from './media.service.js';

@ApiTags('media')
@Controller('media')
export class MediaController {
  constructor(private readonly media: MediaService) {}

  /** Draws a picture, or begins the task that does. */
  @Post('image')
  @LoginOnly({ apiKey: 'media:media:use' })
  @Answers(MediaResultView)
  image(
    @CurrentCaller() caller: Caller,
    @Body() body: ImageBody,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    return this.media.image(caller, body, disconnected);
  }

  /** Speaks a text, or begins the task that does. */
  @Post('speech')
  @LoginOnly({ apiKey: 'media:media:use' })
  @Answers(MediaResultView)
  speech(
    @CurrentCaller() caller: Caller,
    @Body() body: SpeechBody,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    return this.media.speech(caller, body, disconnected);
  }

  /** Writes down what is said in a sound. */
  @Post('transcription')
  @LoginOnly({ apiKey: 'media:media:use' })
  @ReceivesForm(TRANSCRIPTION_FORM)
  @Answers(TranscriptView)
  async transcribe(
    @CurrentCaller() caller: Caller,
    @Body() { model, ...fields }: TranscriptionBody,
    @FormFiles() [file]: readonly FormFile[],
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<TranscriptView> {
    const bytes = file?.buffer ?? Buffer.alloc(0);
    const request = { model, bytes, task: 'transcribe', format: 'json', fields } as const;
    const { text, seconds = null } = await this.media.transcribe(caller, request, disconnected);
    return { text, seconds };
  }

  /** Begins to make a video. */
  @Post('video')
  @LoginOnly({ apiKey: 'media:media:use' })
  @Answers(MediaResultView)
  video(
    @CurrentCaller() caller: Caller,
    @Body() body: VideoBody,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    return this.media.video(caller, body, disconnected);
  }

  /** How a video is getting on. */
  @Get('video')
  @LoginOnly({ apiKey: 'media:media:use' })
  @Answers(MediaResultView)
  async lookUpVideo(
    @CurrentCaller() caller: Caller,
    @Query() query: VideoQuery,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    return MediaResultView.of(await this.media.lookUpVideo(caller, query, disconnected));
  }

  /** How a picture, a speech or a video of an asynchronous service is getting on. */
  @Get('prediction')
  @LoginOnly({ apiKey: 'media:media:use' })
  @Answers(MediaResultView)
  async lookUpPrediction(
    @CurrentCaller() caller: Caller,
    @Query() query: PredictionQuery,
    @WhileConnected() disconnected: AbortSignal,
  ): Promise<MediaResultView> {
    return MediaResultView.of(await this.media.lookUpPrediction(caller, query, disconnected));
  }
}
