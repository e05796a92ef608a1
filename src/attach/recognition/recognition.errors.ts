import { DomainError, InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

export class NoVisionError extends InvalidInputError {
  constructor(modelName: string) {
    super(
      msg`The model ${modelName} does not read images. Choose a chat model with supportsVision as the ocrModel of the knowledge base, or set supportsVision of this one if it does.`,
    );
  }
}

export class NoTesseractError extends InvalidInputError {
  constructor() {
    super(
      msg`Text recognition without a model needs the program tesseract, which is not installed where documents are parsed. Choose a chat model with supportsVision as the ocrModel of the knowledge base, or ask the operator to install tesseract.`,
    );
  }
}

export class TesseractFailedError extends InvalidInputError {
  constructor(page: number, reason: string) {
    super(
      msg`tesseract could not read page ${page}: ${reason} Ask the operator to check OCR_LANGUAGES and the installation of tesseract.`,
    );
  }
}

export class RecognitionTimeoutError extends InvalidInputError {
  constructor(page: number, seconds: number) {
    super(
      msg`Reading page ${page} took longer than ${seconds} s, which is the limit (OCR_TIMEOUT_SECONDS). Upload the page at a lower resolution, or ask the operator to raise the limit.`,
    );
  }
}

/** The answer of the model ended at its limit: half a page is not stored. */
export class CutPageError extends DomainError {
  readonly code = 500;

  constructor(page: number, modelName: string) {
    super(
      msg`The answer of the model ${modelName} for page ${page} ended at its token limit. Raise maxOutput of the model, or choose another ocrModel.`,
    );
  }
}
