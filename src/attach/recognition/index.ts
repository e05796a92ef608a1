export type { PageText, TextRecognition } from './text-recognition.js';
export { TextRecognitions } from './text-recognition.js';
