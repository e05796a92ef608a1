import { applyDecorators, createParamDecorator, UseInterceptors } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { UploadedPart, UploadRequest } from './upload.engine.js';
import { UploadInterceptor } from './upload.interceptor.js';

interface FormField {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description?: string;
}

/**
 * A multipart route: its parts named `file` are stored before the method runs, and those without a record are removed
 * when it fails. `fields` documents the others.
 */
export function ReceivesFiles(fields: Readonly<Record<string, FormField>> = {}): MethodDecorator {
  return applyDecorators(
    UseInterceptors(UploadInterceptor),
    ApiConsumes('multipart/form-data'),
    ApiBody({
      schema: {
        type: 'object',
        required: ['file'],
        properties: { file: { type: 'string', format: 'binary' }, ...fields },
      },
    }),
  );
}

/** The files that ReceivesFiles has stored or refused; empty when the request had none. */
export const ReceivedFiles = createParamDecorator(
  (_: unknown, context: ExecutionContext): UploadedPart[] => {
    const { files } = context.switchToHttp().getRequest<UploadRequest>();
    return files ?? [];
  },
);
