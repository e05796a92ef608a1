import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { CompletionClient, ModelResolver } from '../../model/index.js';
import { NoVisionError } from './recognition.errors.js';
import { TesseractRecognition } from './tesseract-recognition.js';
import type { TextRecognition } from './text-recognition.js';
import { VisionRecognition } from './vision-recognition.js';

/** The text recognition that a knowledge base has chosen. */
@Injectable()
export class TextRecognitions {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly models: ModelResolver,
    private readonly client: CompletionClient,
  ) {}

  /** Undefined where it is off. Throws NoVisionError, or why the model cannot be called. */
  async of(
    caller: Caller,
    { enableOcr, ocrModel }: Pick<KnowledgeBase, 'enableOcr' | 'ocrModel'>,
  ): Promise<TextRecognition | undefined> {
    if (enableOcr !== 1) return undefined;
    const { OCR_TESSERACT, OCR_LANGUAGES, OCR_TIMEOUT_SECONDS } = this.config;
    if (!ocrModel) {
      return new TesseractRecognition({
        program: OCR_TESSERACT,
        languages: OCR_LANGUAGES,
        timeoutSeconds: OCR_TIMEOUT_SECONDS,
      });
    }
    const model = await this.models.resolveChat(caller, ocrModel);
    if (!model.supportsVision) throw new NoVisionError(ocrModel);
    const use = { caller, feature: 'ingestion' } as const;
    return new VisionRecognition(this.client, use, model, OCR_TIMEOUT_SECONDS * 1_000);
  }
}
