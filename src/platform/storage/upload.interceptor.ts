import { applyDecorators, createParamDecorator, Injectable, UseInterceptors } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { FilesInterceptor } from '@nestjs/platform-express';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { Request } from 'express';
import { catchError } from 'rxjs';
import type { Observable } from 'rxjs';
import { literal, msg } from '../message/index.js';
import { isUnavailable } from '../database/index.js';
import { TooManyFilesError, UnreadableUploadError } from './storage.errors.js';
import { StorageService } from './storage.service.js';
import { UploadEngine } from './file-storage.js';
import type { UploadedPart, UploadRequest } from './file-storage.js';

/** Limit of parts named `file` in one request. */
export const FILES_A_REQUEST = 20;

/** The name of the parts that are files, how many of them a request may have, and the bytes of each. */
interface UploadForm {
  readonly part: string;
  readonly files: number;
  /** Limit of the bytes of each file; default: the limit of uploads. */
  readonly fileBytes?: number;
}

/**
 * Receives a multipart request with the UploadEngine, after the guards. Fields are validated when everything is
 * received, so files of a request that fails the validation are removed.
 */
@Injectable()
export class UploadInterceptor implements NestInterceptor {
  private readonly receiver: NestInterceptor;

  constructor(
    engine: UploadEngine,
    private readonly storage: StorageService,
  ) {
    const { part, files, fileBytes = engine.limitBytes } = this.form;
    const Receiver = FilesInterceptor(part, undefined, {
      storage: engine.within(fileBytes),
      // Browsers send names as UTF-8 without declaring it; multer's default is latin1.
      defParamCharset: 'utf8',
      // The limit is not the second argument, whose error is that of a part with another name.
      limits: { files, fields: 50, fieldSize: 100_000, fieldNameSize: 100 },
    });
    this.receiver = new Receiver();
  }

  protected get form(): UploadForm {
    return { part: 'file', files: FILES_A_REQUEST };
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    try {
      const handled = await this.receiver.intercept(context, next);
      return handled.pipe(catchError((error: unknown) => this.failed(context, error)));
    } catch (error) {
      if (isUnavailable(error)) throw error;
      const request = context.switchToHttp().getRequest<Request>();
      const { part, files } = this.form;
      if (isTooMany(error)) throw new TooManyFilesError(files, error);
      if (!request.complete) throw new UnreadableUploadError(msg`it was interrupted`, error, part);
      if (isRefusal(error)) throw new UnreadableUploadError(literal(error.message), error, part);
      throw error;
    }
  }

  private async failed(context: ExecutionContext, error: unknown): Promise<never> {
    const { files = [] } = context.switchToHttp().getRequest<UploadRequest>();
    await this.storage.discardUnrecorded(files);
    throw error;
  }
}

/** The part of the avatar, which existing consoles name differently. Every user may send one, so its size is limited. */
@Injectable()
class AvatarInterceptor extends UploadInterceptor {
  protected override get form(): UploadForm {
    return { part: 'avatarfile', files: 1, fileBytes: 2 ** 20 };
  }
}

/** Refusals of multer are exceptions of Nest; everything else is a failure of the storage. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && 'getStatus' in error;
}

/** Nest keeps only the message of multer's LIMIT_FILE_COUNT. */
function isTooMany(error: unknown): boolean {
  return isRefusal(error) && error.message === 'Too many files';
}

interface FormField {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description?: string;
}

/**
 * A multipart route: its parts named `file` are stored before the method runs, and those without a record are removed
 * when it fails. `fields` documents the others.
 */
export function ReceivesFiles(fields: Readonly<Record<string, FormField>> = {}): MethodDecorator {
  return receives('file', UploadInterceptor, fields);
}

/** A route whose body is JSON, or a form with the same fields and a part named `file`. */
export function ReceivesFileOrJson(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(UploadInterceptor),
    ApiConsumes('application/json', 'multipart/form-data'),
  );
}

/** Like ReceivesFiles, for one image of at most 1 MiB in a part named `avatarfile`. */
export function ReceivesAvatar(): MethodDecorator {
  return receives('avatarfile', AvatarInterceptor, {});
}

function receives(
  part: string,
  interceptor: typeof UploadInterceptor,
  fields: Readonly<Record<string, FormField>>,
): MethodDecorator {
  return applyDecorators(
    UseInterceptors(interceptor),
    ApiConsumes('multipart/form-data'),
    ApiBody({
      schema: {
        type: 'object',
        required: [part],
        properties: { [part]: { type: 'string', format: 'binary' }, ...fields },
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
