import { IsDefined } from 'class-validator';
import { Decimal, Text, Whole } from '../platform/http/index.js';

const MODEL = 200;
const TEXT = 100_000;
const WORD = 200;
const TASK_ID = 200;
/** Largest 32-bit integer: what image models take as a seed. */
const LARGEST_SEED = 2_147_483_647;
const LONGEST_SECONDS = 3_600;

export class ImageBody {
  @Text({ max: MODEL, description: 'modelName of a model of category image', example: 'painter' })
  @IsDefined({ message: 'model must not be empty' })
  model: string;

  @Text({ max: TEXT, description: 'What is to be seen', example: 'A lighthouse at dusk' })
  @IsDefined({ message: 'prompt must not be empty' })
  prompt: string;

  @Text({
    optional: true,
    max: WORD,
    description: 'In the form that the provider takes, for example 1024x1024, 1024*1024 or 16:9',
    example: '1024x1024',
  })
  size?: string;

  @Whole({
    optional: true,
    min: 0,
    max: LARGEST_SEED,
    description: 'The same seed draws the same picture, where the model can do that',
  })
  seed?: number;
}

export class SpeechBody {
  @Text({ max: MODEL, description: 'modelName of a model of category audio', example: 'speaker' })
  @IsDefined({ message: 'model must not be empty' })
  model: string;

  @Text({ max: TEXT, description: 'What is to be said', example: 'Welcome aboard.' })
  @IsDefined({ message: 'input must not be empty' })
  input: string;

  @Text({ optional: true, max: WORD, description: 'A voice of the provider', example: 'alloy' })
  voice?: string;

  @Text({ optional: true, max: WORD, description: 'mp3 when not given', example: 'wav' })
  responseFormat?: string;

  @Decimal({ optional: true, description: '1 is the usual speed; not every provider has it' })
  speed?: number;

  @Text({ optional: true, max: TEXT, description: 'How to say it; not every provider has it' })
  instructions?: string;
}

export class VideoBody {
  @Text({ max: MODEL, description: 'modelName of a model of category video', example: 'filmer' })
  @IsDefined({ message: 'model must not be empty' })
  model: string;

  @Text({ max: TEXT, description: 'What is to happen', example: 'Waves roll onto a beach' })
  @IsDefined({ message: 'prompt must not be empty' })
  prompt: string;

  @Text({ optional: true, max: WORD, description: 'A size of the model', example: '1280x720' })
  size?: string;

  @Whole({ optional: true, min: 1, max: LONGEST_SECONDS, description: 'A length of the model' })
  seconds?: number;

  @Text({ optional: true, max: WORD, description: 'A quality of the model' })
  quality?: string;
}

export class VideoQuery {
  @Text({ max: MODEL, description: 'The model that makes the video' })
  @IsDefined({ message: 'model must not be empty' })
  model: string;

  @Text({ max: TASK_ID, description: 'The id that POST /media/video answered' })
  @IsDefined({ message: 'videoId must not be empty' })
  videoId: string;
}

export class PredictionQuery {
  @Text({ max: MODEL, description: 'The model that the task was given to' })
  @IsDefined({ message: 'model must not be empty' })
  model: string;

  @Text({ max: TASK_ID, description: 'The id that the task was answered with' })
  @IsDefined({ message: 'predictionId must not be empty' })
  predictionId: string;
}
