import { Input, Text } from '../../platform/http/index.js';

export class ContentQuery extends Input({
  model: Text({
    max: 200,
    description: 'The model that the task was given to',
    missing: 'model must not be empty',
  }),
  predictionId: Text({
    pattern: /^[A-Za-z0-9_-]{1,128}$/,
    patternMessage: 'must be 1 to 128 letters, digits, _ and -',
    description: 'The id that the task was answered with',
    missing: 'predictionId must not be empty',
  }),
}) {}
