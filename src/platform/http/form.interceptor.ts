import { applyDecorators, createParamDecorator, Injectable, UseInterceptors } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor, Type } from '@nestjs/common';
import { AnyFilesInterceptor } from '@nestjs/platform-express';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { Request } from 'express';
import type { StorageEngine } from 'multer';
import type { Observable } from 'rxjs';
import { DomainError } from '../error/index.js';
import { literal, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { BodyBudget, BodyError, MAX_FORM_BYTES, TooLargeError } from './body.js';
import { clientNetwork } from './request.js';
import { onClose } from './stream.js';

/** Limits of the text fields of one form and of the bytes of a field. */
const MAX_FIELDS = 100;
const MAX_FIELD_BYTES = 256 * 1024;
const MAX_NAME_BYTES = 100;

/** A file of a form, which is held in memory until the request is answered. */
export interface FormFile {
  /** The name of its part. */
  readonly fieldname: string;
  /** The name that the client gave it. */
  readonly originalname: string;
  readonly buffer: Buffer;
}

/** The request cannot be read as a form. */
class FormError extends BodyError {
  constructor(problem: Message, cause?: unknown) {
    super(msg`The form could not be read: ${problem}. Send it again as multipart/form-data.`, {
      cause,
    });
  }
}

/** Holds the files of a form in memory, all of them within MAX_FORM_BYTES. */
class MemoryEngine implements StorageEngine {
  private readonly bytesOf = new WeakMap<Request, number>();

  _handleFile(
    request: Request,
    { stream }: Express.Multer.File,
    done: (error?: unknown, info?: Partial<Express.Multer.File>) => void,
  ): void {
    const chunks: Buffer[] = [];
    let failure: unknown;
    stream.on('data', (chunk: Buffer) => {
      // The rest of a refused file is read and dropped, so that the client reads the answer.
      if (failure !== undefined) return;
      try {
        this.hold(request, chunk.length);
        chunks.push(chunk);
      } catch (error) {
        failure = error;
        chunks.length = 0;
      }
    });
    stream.once('error', done);
    stream.once('end', () => {
      if (failure !== undefined) done(failure);
      else done(null, { buffer: Buffer.concat(chunks) });
    });
  }

  _removeFile(_request: Request, _file: Express.Multer.File, done: (error: null) => void): void {
    done(null);
  }

  private hold(request: Request, bytes: number): void {
    const total = (this.bytesOf.get(request) ?? 0) + bytes;
    if (total > MAX_FORM_BYTES) throw new TooLargeError(MAX_FORM_BYTES);
    this.bytesOf.set(request, total);
  }
}

/**
 * Takes every byte of a form, its texts included, from the budget of the process until the request is answered. Rejects when
 * the budget does not suffice; the rest of the request is then read and dropped, so that the client reads the answer.
 */
function withinBudget(request: Request, budget: BodyBudget): Promise<never> {
  const network = clientNetwork(request.ip);
  let bytesRead = 0;
  if (request.res) onClose(request.res, () => budget.release(network, bytesRead));
  return new Promise((_, reject) => {
    const take = (chunk: Buffer): void => {
      try {
        budget.take(network, chunk.length);
        bytesRead += chunk.length;
      } catch (error) {
        request.off('data', take).unpipe();
        request.resume();
        reject(error instanceof Error ? error : new Error('Unknown failure', { cause: error }));
      }
    };
    request.on('data', take);
  });
}

/** Reads a multipart request after the guards. A request of another type passes as it is. */
function formInterceptor(files: number): Type<NestInterceptor> {
  @Injectable()
  class FormInterceptor implements NestInterceptor {
    private readonly receiver: NestInterceptor;

    constructor(private readonly budget: BodyBudget) {
      const Receiver = AnyFilesInterceptor({
        storage: new MemoryEngine(),
        defParamCharset: 'utf8',
        limits: {
          files,
          fields: MAX_FIELDS,
          parts: files + MAX_FIELDS,
          fieldSize: MAX_FIELD_BYTES,
          fieldNameSize: MAX_NAME_BYTES,
        },
      });
      this.receiver = new Receiver();
    }

    async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
      const request = context.switchToHttp().getRequest<Request>();
      const isForm = Boolean(request.is('multipart/form-data'));
      // Failures of the handler come later, through the observable.
      try {
        const received = this.receiver.intercept(context, next);
        return await (isForm
          ? Promise.race([withinBudget(request, this.budget), received])
          : received);
      } catch (error) {
        if (error instanceof DomainError) throw error;
        if (!request.complete) throw new FormError(msg`it was interrupted`, error);
        if (error instanceof Error && 'getStatus' in error) {
          throw new FormError(literal(error.message), error);
        }
        throw error;
      }
    }
  }
  return FormInterceptor;
}

interface FormRoute {
  /** The names of parts that are files; a name with `[]` has several. */
  readonly files: readonly string[];
  readonly maxFiles: number;
  /** The text fields as OpenAPI shows them. */
  readonly fields: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

const BINARY = { type: 'string', format: 'binary' } as const;

/** A route that reads multipart/form-data into memory; nothing of it is stored. */
export function ReceivesForm(route: FormRoute): MethodDecorator {
  const { files, maxFiles, fields, required } = route;
  const parts = files.map((name): [string, object] => [
    name,
    name.endsWith('[]') ? { type: 'array', items: BINARY, maxItems: maxFiles } : BINARY,
  ]);
  const form = {
    type: 'object',
    required: [...required],
    properties: { ...Object.fromEntries(parts), ...fields },
  };
  return applyDecorators(
    UseInterceptors(formInterceptor(maxFiles)),
    ApiConsumes('multipart/form-data'),
    ApiBody({ schema: form }),
  );
}

/** The files of a form; empty for a request of another type. */
export const FormFiles = createParamDecorator(
  (_: unknown, context: ExecutionContext): readonly FormFile[] => {
    const { files } = context.switchToHttp().getRequest<Request>();
    return Array.isArray(files) ? files : [];
  },
);
