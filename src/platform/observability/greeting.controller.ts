import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '../access/index.js';
import { NoEnvelope } from '../http/index.js';

@ApiTags('operation')
@Controller()
export class GreetingController {
  /** Names the service to a person who opens the address in a browser. */
  @Get()
  @Public()
  @NoEnvelope()
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @ApiOperation({ summary: 'A greeting as plain text' })
  @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string' } } } })
  greet(): string {
    return 'Welcome to Plinth, the backend for AI applications. The API is documented at /docs.\n';
  }
}
