import { IsDefined } from 'class-validator';
import { Text } from '../../platform/http/index.js';

export class ContentQuery {
  @Text({ max: 200, description: 'The model that the task was given to' })
  @IsDefined({ message: 'model must not be empty' })
  model: string;

  @Text({
    pattern: /^[A-Za-z0-9_-]{1,128}$/,
    patternMessage: 'must be 1 to 128 letters, digits, _ and -',
    description: 'The id that the task was answered with',
  })
  @IsDefined({ message: 'predictionId must not be empty' })
  predictionId: string;
}
