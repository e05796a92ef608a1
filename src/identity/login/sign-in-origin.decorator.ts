import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { SignInOrigin } from '../sign-in/sign-in.service.js';

/** The address and browser of the request, as a parameter of a controller method. */
export const Origin = createParamDecorator(
  (_: unknown, context: ExecutionContext): SignInOrigin => {
    const request = context.switchToHttp().getRequest<Request>();
    return { ip: request.ip, userAgent: request.headers['user-agent'] };
  },
);
