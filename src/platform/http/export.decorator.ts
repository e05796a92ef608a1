import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import {
  applyDecorators,
  Injectable,
  Logger,
  Post,
  SetMetadata,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { PARAMTYPES_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Reflector } from '@nestjs/core';
import { ApiConsumes, ApiOperation } from '@nestjs/swagger';
import type { Response } from 'express';
import { mergeMap } from 'rxjs';
import type { Observable } from 'rxjs';
import { msg } from '../message/index.js';
import { TooManyRequestsError } from '../error/index.js';
import { AnswersFile } from './answer.decorator.js';
import { FormBody } from './body.js';
import { NoEnvelope } from './answer.js';
import type { Page } from './answer.js';
import { onClose } from './stream.js';
import { workbook } from './workbook.js';
import type { Sheet } from './workbook.js';

/** Limit of the rows of one export. */
const MAX_EXPORTED_ROWS = 50_000;

/** Rows that are read and held at a time. */
const ROWS_AT_ONCE = 500;

/** Exports that one process writes at the same time. */
const MAX_EXPORT_COUNT = 4;
const RETRY_AFTER_SECONDS = 10;

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const SHEET = 'http:export-sheet';

const { QUERY, BODY } = RouteParamtypes;

/** Reads a page of the list, with the filters and for the caller of the request. */
export type ListReader<Row> = (page: {
  readonly pageNum: number;
  readonly pageSize: number;
}) => Promise<Page<Row>>;

let running = 0;

/**
 * Writes what a ListReader reads as a workbook. The first page is read before the answer begins, so a refusal is still an
 * envelope; an answer that fails later is cut off, so that it is not taken for a complete one.
 */
@Injectable()
export class ExportInterceptor implements NestInterceptor {
  private readonly logger = new Logger('Export');

  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<StreamableFile> {
    const sheet = this.reflector.get<Sheet<unknown>>(SHEET, context.getHandler());
    const response = context.switchToHttp().getResponse<Response>();
    // Pages are read when the client wants more, in whatever context that happens.
    const inRequest = AsyncLocalStorage.snapshot();
    return next.handle().pipe(
      mergeMap((reader: ListReader<unknown>) => {
        const read: ListReader<unknown> = (page) => inRequest(() => reader(page));
        return this.answer(sheet, read, response);
      }),
    );
  }

  private async answer(
    sheet: Sheet<unknown>,
    read: ListReader<unknown>,
    response: Response,
  ): Promise<StreamableFile> {
    if (running >= MAX_EXPORT_COUNT) {
      throw new TooManyRequestsError(
        msg`Too many exports at the same time. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
    running += 1;
    // The answer may be complete, failed, refused, or without its client.
    onClose(response, () => (running -= 1));
    const first = await read({ pageNum: 1, pageSize: ROWS_AT_ONCE });
    const file = workbook(sheet, rowsOf(sheet, first, read), () => remark(first.total));
    const name = `${sheet.name.toLowerCase().replaceAll(' ', '-')}.xlsx`;
    response.status(200).attachment(name).set({
      'Content-Type': XLSX,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    });
    return new StreamableFile(Readable.from(file, { objectMode: false })).setErrorHandler(
      (error) => {
        this.logger.error({ msg: 'Failed to export', sheet: sheet.name, err: error });
        response.destroy();
      },
    );
  }
}

/**
 * The rows page by page, each once: rows that are added meanwhile move those after them to a later page. A row that is
 * deleted meanwhile can move another one out of the export.
 */
async function* rowsOf(
  sheet: Sheet<unknown>,
  first: Page<unknown>,
  read: ListReader<unknown>,
): AsyncGenerator<readonly unknown[], void> {
  const exportedKeys = new Set<unknown>();
  const [key] = sheet.columns;
  const isNew = (row: unknown): boolean => {
    const before = exportedKeys.size;
    if (before < MAX_EXPORTED_ROWS) exportedKeys.add(key?.read(row));
    return exportedKeys.size > before;
  };
  for (let page = first, pageNum = 1; page.rows.length > 0; pageNum += 1) {
    yield page.rows.filter(isNew);
    if (page.rows.length < ROWS_AT_ONCE || exportedKeys.size >= MAX_EXPORTED_ROWS) return;
    page = await read({ pageNum: pageNum + 1, pageSize: ROWS_AT_ONCE });
  }
}

function remark(total: number): string | undefined {
  if (total <= MAX_EXPORTED_ROWS) return undefined;
  return `These are the first ${MAX_EXPORTED_ROWS} of ${total} rows. Narrow the filter to export the others.`;
}

/**
 * A route that answers a list as an .xlsx file, with the filters of the list as a form. Its method returns the ListReader.
 */
export function AnswersWorkbook<Row>(sheet: Sheet<Row>): MethodDecorator {
  return applyDecorators(
    NoEnvelope(),
    FormBody(),
    SetMetadata(SHEET, sheet),
    UseInterceptors(ExportInterceptor),
    ApiConsumes('application/x-www-form-urlencoded', 'application/json'),
    AnswersFile(
      XLSX,
      `A workbook with the rows of the list, ${MAX_EXPORTED_ROWS} at most; pageNum and pageSize are ignored`,
    ),
  );
}

/** The parameters of a route as Nest keeps them, by `type:index`. */
type Parameters = Readonly<Record<string, { readonly index: number }>>;

/**
 * Adds to a list, `GET …/list`, its export, `POST …/export`: the same rows as a workbook, with the filters in the body.
 * `permission` is the decorator that guards the export.
 */
export function WithExport<Row>(sheet: Sheet<Row>, permission: MethodDecorator): MethodDecorator {
  return (controller, list, { value }) => {
    const read = value as (...args: unknown[]) => Promise<Page<Row>>;
    const { constructor } = controller;
    const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, constructor, list) as Parameters;
    const query = Object.keys(parameters).find((key) => key.startsWith(`${QUERY}:`)) ?? '';
    const { [query]: filters, ...others } = parameters;
    if (!filters)
      throw new Error(`${constructor.name}.${String(list)} needs a @Query() to be exported.`);
    const name = 'export';
    // Nest and OpenAPI ask the method for its name.
    const added = {
      [name](this: object, ...args: unknown[]): ListReader<Row> {
        const filtered = args[filters.index] as object;
        return (page) => read.apply(this, args.with(filters.index, { ...filtered, ...page }));
      },
    };
    Object.assign(controller, added);
    const body = { ...others, [`${BODY}:${filters.index}`]: filters };
    Reflect.defineMetadata(ROUTE_ARGS_METADATA, body, constructor, name);
    const types: unknown = Reflect.getMetadata(PARAMTYPES_METADATA, controller, list);
    Reflect.defineMetadata(PARAMTYPES_METADATA, types, controller, name);
    const documented = ApiOperation({ summary: 'The rows of the list as a workbook.' });
    applyDecorators(
      Post(name),
      permission,
      AnswersWorkbook(sheet),
      documented,
    )(controller, name, { value: added[name] });
  };
}
