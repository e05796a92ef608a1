import type { PipeTransform, Type } from '@nestjs/common';
import {
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PARAMTYPES_METADATA,
  PIPES_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Request, Response } from 'express';

/** Reads one parameter of a controller method from its request. */
export type Reader = (
  context: ExecutionContextHost,
  request: Request,
  response: Response,
) => unknown;

/** A parameter of a controller method, as its decorator declares it. */
interface DeclaredParameter {
  readonly kind: RouteParamtypes;
  readonly index: number;
  /** The one field that is read; undefined for the whole of it. */
  readonly data?: string;
  /** The factory of a `createParamDecorator` parameter. */
  readonly factory?: (data: unknown, context: ExecutionContextHost) => unknown;
  readonly pipes?: readonly (PipeTransform | Type<PipeTransform>)[];
  /** The class that TypeScript writes down for it. */
  readonly type: Type | undefined;
}

export function parametersOf(controller: Type, name: string): DeclaredParameter[] {
  const { prototype } = controller as { prototype: object };
  const types = Reflect.getMetadata(PARAMTYPES_METADATA, prototype, name) as Type[];
  const declared = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    Omit<DeclaredParameter, 'kind' | 'type'>
  >;
  return Object.entries(declared)
    .map(([key, parameter]) => ({
      ...parameter,
      kind: Number(key.split(':', 1)[0]) as RouteParamtypes,
      type: types[parameter.index],
    }))
    .sort((one, other) => one.index - other.index);
}

/** The readers of a method's parameters, in their order, for calls without the router. */
export function readersOf(
  controller: Type,
  name: string,
  globalPipes: () => readonly PipeTransform[],
): Reader[] {
  return parametersOf(controller, name).map((parameter): Reader => {
    const { kind, data, factory, type: metatype } = parameter;
    if (factory) return (context) => factory(data, context);
    const pipes = (parameter.pipes ?? []).map((pipe) => (isClass(pipe) ? new pipe() : pipe));
    const piped = async (value: unknown, type: 'body' | 'query' | 'param'): Promise<unknown> => {
      let current = value;
      for (const pipe of [...globalPipes(), ...pipes]) {
        current = await pipe.transform(current, { type, metatype, data });
      }
      return current;
    };
    switch (kind) {
      case RouteParamtypes.BODY:
        return (_, { body }) => piped(body, 'body');
      case RouteParamtypes.QUERY:
        return (_, { query }) => piped(data === undefined ? query : query[data], 'query');
      case RouteParamtypes.PARAM:
        return (_, { params }) => piped(data === undefined ? params : params[data], 'param');
      case RouteParamtypes.HEADERS:
        return (_, { headers }) => (data === undefined ? headers : headers[data.toLowerCase()]);
      case RouteParamtypes.RESPONSE:
        return (_, __, response) => response;
      default:
        throw new Error(`${controller.name}.${name} has a parameter that only the router reads.`);
    }
  });
}

export async function readParameters(
  readers: readonly Reader[],
  context: ExecutionContextHost,
): Promise<unknown[]> {
  const [request, response] = context.getArgs<[Request, Response]>();
  const parameters: unknown[] = [];
  for (const read of readers) parameters.push(await read(context, request, response));
  return parameters;
}

/** Refuses a handler with guards, interceptors or pipes of its own, which only the router runs. */
export function refuseOwnSteps(controller: Type, handler: object): void {
  const hasOwnSteps = [GUARDS_METADATA, INTERCEPTORS_METADATA, PIPES_METADATA].some((key) =>
    [controller, handler].some((target) => Reflect.hasMetadata(key, target)),
  );
  if (hasOwnSteps) {
    throw new Error(
      `${controller.name} has guards, interceptors or pipes of its own, which only the router runs.`,
    );
  }
}

function isClass(pipe: PipeTransform | Type<PipeTransform>): pipe is Type<PipeTransform> {
  return typeof pipe === 'function';
}
