import {
  decimal,
  Decimal,
  Input,
  nullable,
  oneOf,
  PROPERTY,
  Text,
  text,
  View,
  Whole,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';

const MODEL = 200;
const TEXT = 100_000;
const WORD = 200;
const TASK_ID = 200;
/** Largest 32-bit integer: what image models take as a seed. */
const MAX_SEED = 2_147_483_647;
const MAX_SECONDS = 3_600;

/** A text that must be given. */
const needed = (max: number, description: string, example?: string) =>
  Text({
    max,
    description,
    ...(example && { example }),
    missing: msg`${PROPERTY} must not be empty`,
  });

export class ImageBody extends Input({
  model: needed(MODEL, 'modelName of a model of category image', 'painter'),
  prompt: needed(TEXT, 'What is to be seen', 'A lighthouse at dusk'),
  size: Text({
    optional: true,
    max: WORD,
    description: 'In the form that the provider takes, for example 1024x1024, 1024*1024 or 16:9',
    example: '1024x1024',
  }),
  seed: Whole({
    optional: true,
    min: 0,
    max: MAX_SEED,
    description: 'The same seed draws the same picture, where the model can do that',
  }),
}) {}

export class SpeechBody extends Input({
  model: needed(MODEL, 'modelName of a model of category audio', 'speaker'),
  input: needed(TEXT, 'What is to be said', 'Welcome aboard.'),
  voice: Text({
    optional: true,
    max: WORD,
    description: 'A voice of the provider',
    example: 'alloy',
  }),
  responseFormat: Text({
    optional: true,
    max: WORD,
    description: 'mp3 when not given',
    example: 'wav',
  }),
  speed: Decimal({
    optional: true,
    description: '1 is the usual speed; not every provider has it',
  }),
  instructions: Text({
    optional: true,
    max: TEXT,
    description: 'How to say it; not every provider has it',
  }),
}) {}

export class VideoBody extends Input({
  model: needed(MODEL, 'modelName of a model of category video', 'filmer'),
  prompt: needed(TEXT, 'What is to happen', 'Waves roll onto a beach'),
  size: Text({
    optional: true,
    max: WORD,
    description: 'A size of the model',
    example: '1280x720',
  }),
  seconds: Whole({
    optional: true,
    min: 1,
    max: MAX_SECONDS,
    description: 'A length of the model',
  }),
  quality: Text({ optional: true, max: WORD, description: 'A quality of the model' }),
}) {}

export class VideoQuery extends Input({
  model: needed(MODEL, 'The model that makes the video'),
  videoId: needed(TASK_ID, 'The id that POST /media/video answered'),
}) {}

export class PredictionQuery extends Input({
  model: needed(MODEL, 'The model that the task was given to'),
  predictionId: needed(TASK_ID, 'The id that the task was answered with'),
}) {}

export class ContentQuery extends Input({
  model: needed(MODEL, 'The model that the task was given to'),
  predictionId: Text({
    pattern: /^[A-Za-z0-9_-]{1,128}$/,
    patternMessage: msg`must be 1 to 128 letters, digits, _ and -`,
    description: 'The id that the task was answered with',
    missing: msg`predictionId must not be empty`,
  }),
}) {}

const transcriptionFields = {
  model: needed(MODEL, 'modelName of a model of category transcription', 'listener'),
  language: Text({
    optional: true,
    max: WORD,
    description: 'Of the sound, as ISO 639-1',
    example: 'en',
  }),
  prompt: Text({ optional: true, max: TEXT, description: 'Words or the text before, as a hint' }),
};

/** The fields of a form beside its file. */
export class TranscriptionBody extends Input(transcriptionFields) {}

const TEXT_FIELD = { type: 'string' } as const;
export const TRANSCRIPTION_FORM = {
  files: ['file'],
  maxFiles: 1,
  required: ['file', 'model'],
  fields: { model: TEXT_FIELD, language: TEXT_FIELD, prompt: TEXT_FIELD },
};

/** The text of a recording. */
export class TranscriptView extends View({
  text: text({ example: 'Welcome aboard.' }),
  seconds: nullable(decimal({ description: 'Length of the sound, where the provider says it' })),
}) {}

/** A result of a media model, finished or in progress. Every field is there; null where it is unused. */
export class MediaResultView extends View({
  type: oneOf(['image', 'audio', 'video']),
  mimeType: nullable(text({ example: 'image/png' })),
  url: nullable(text({ description: 'The result at the provider, as long as that keeps it' })),
  b64Json: nullable(text()),
  dataUrl: nullable(text({ description: 'The result itself, for the src of an element' })),
  id: nullable(text({ description: 'Of the task: looked up later, with the model’s name' })),
  status: nullable(text({ description: 'The provider’s own word', example: 'completed' })),
  rawResponse: nullable(text({ description: 'The provider’s answer, for diagnosis' })),
  lastFrameUrl: nullable(text({ description: 'The last picture of a video' })),
}) {}
